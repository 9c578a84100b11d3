/** One result, any form: the single place where a report's format is chosen, so that no two forms can differ. */

import type { ReportResult } from '../report-result.ts';
import { renderAbout } from './about-text.ts';
import { renderCsv, renderCsvWithMark } from './csv-text.ts';
import { renderJson, renderNdjson } from './json-text.ts';
import { renderTable, type TableOptions } from './table-text.ts';

export interface RenderedReport {
  readonly body: string | Uint8Array;
  readonly contentType: string;
  /** Without a dot. */
  readonly extension: string;
  /** true: bytes that do not belong on a terminal. */
  readonly isBinary: boolean;
}

interface Format extends Omit<RenderedReport, 'body'> {
  readonly render: (
    result: ReportResult,
    options: TableOptions,
  ) => RenderedReport['body'] | Promise<RenderedReport['body']>;
}

/** Media type of a workbook. */
export const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/**
 * Every form, by the name a person asks for it. A new one is a file beside this one and a line here. The heavy ones are
 * imported when they are asked for, so that a table is there at once.
 */
const FORMATS = {
  table: text('text/plain; charset=utf-8', 'txt', renderTable),
  json: text('application/json', 'json', renderJson),
  ndjson: text('application/x-ndjson', 'ndjson', renderNdjson),
  csv: text('text/csv; charset=utf-8; header=present', 'csv', renderCsv),
  'csv-bom': text('text/csv; charset=utf-8; header=present', 'csv', renderCsvWithMark),
  parquet: binary('application/vnd.apache.parquet', 'parquet', async (result) =>
    (await import('./parquet-file.ts')).renderParquet(result),
  ),
  xlsx: binary(XLSX_TYPE, 'xlsx', async (result) => (await import('./xlsx-file.ts')).renderXlsx(result)),
  html: text('text/html; charset=utf-8', 'html', async (result) =>
    (await import('./html-page.ts')).renderHtml(result),
  ),
  about: text('application/json', 'about.json', renderAbout),
} satisfies Readonly<Record<string, Format>>;

/** `about` is the head of the forms that have none: what was asked, of which publication, how much of it is proved. */
export type ReportFormat = keyof typeof FORMATS;
export const REPORT_FORMATS = Object.keys(FORMATS) as readonly ReportFormat[];

/** The body in that form, text as UTF-8; decimals keep their digits in all of them. */
export async function renderReport(
  result: ReportResult,
  format: ReportFormat,
  options: TableOptions = {},
): Promise<RenderedReport> {
  const { render, ...form }: Format = FORMATS[format];
  return { ...form, body: await render(result, options) };
}

function text(contentType: string, extension: string, render: Format['render']): Format {
  return { contentType, extension, render, isBinary: false };
}

function binary(contentType: string, extension: string, render: Format['render']): Format {
  return { contentType, extension, render, isBinary: true };
}
