/** The papers of a PDF or a workbook; apart from what draws on them, which whoever only names a paper need not load. */

export const PAPERS = ['a4', 'letter'] as const;
export type PaperSize = (typeof PAPERS)[number];
