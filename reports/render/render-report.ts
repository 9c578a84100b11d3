import { buffer as bytesOf, text as textOf } from 'node:stream/consumers';
import type { ReportResult, StreamedResult } from '../report-result.ts';
import { streamCsv, streamCsvWithMark, streamExactCsv } from './csv-text.ts';
import { renderAbout, streamJson, streamNdjson } from './json.ts';
import { renderTable, type TableOptions } from './table-text.ts';

interface Form {
  readonly contentType: string;
  readonly extension: string;
  /** True for a format that does not belong on a terminal. */
  readonly isBinary: boolean;
}

interface Format extends Form {
  readonly stream: (result: StreamedResult, options: TableOptions) => AsyncIterable<string | Uint8Array>;
}

export const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** Large modules are imported on use, so that a table is fast. Table and HTML need all rows in memory. */
const FORMATS = {
  table: text('text/plain; charset=utf-8', 'txt', whole(renderTable)),
  json: text('application/json', 'json', streamJson),
  ndjson: text('application/x-ndjson', 'ndjson', streamNdjson),
  csv: text('text/csv; charset=utf-8; header=present', 'csv', streamCsv),
  'csv-bom': text('text/csv; charset=utf-8; header=present', 'csv', streamCsvWithMark),
  'csv-exact': text('text/csv; charset=utf-8; header=present', 'csv', streamExactCsv),
  parquet: binary('application/vnd.apache.parquet', 'parquet', async function* (result) {
    yield* (await import('./parquet-file.ts')).renderParquet(result);
  }),
  xlsx: binary(XLSX_TYPE, 'xlsx', async function* (result) {
    yield* (await import('./xlsx-file.ts')).renderXlsx(result);
  }),
  html: text(
    'text/html; charset=utf-8',
    'html',
    whole(async (result) => (await import('./html-page.ts')).renderHtml(result)),
  ),
  about: text('application/json', 'about.json', async function* (result) {
    yield renderAbout(result);
  }),
} satisfies Readonly<Record<string, Format>>;

/** `about` is the head, for formats without one. */
export type ReportFormat = keyof typeof FORMATS;
export const REPORT_FORMATS = Object.keys(FORMATS) as readonly ReportFormat[];

export function formatOf(path: string): ReportFormat | undefined {
  return REPORT_FORMATS.find((format) => path.toLowerCase().endsWith(`.${FORMATS[format].extension}`));
}

const CSV_READERS: Readonly<Partial<Record<ReportFormat, string>>> = {
  csv: 'For spreadsheets: texts that look like formulas and invisible characters are escaped; csv-exact is for programs.',
  'csv-bom':
    'For spreadsheets: texts that look like formulas and invisible characters are escaped; csv-exact is for programs.',
  'csv-exact':
    'For programs: every text is unchanged, so a spreadsheet may compute it; csv is for spreadsheets.',
};

/** Returns a sentence about the format where several formats share its extension; null for any other. */
export function readersOf(format: ReportFormat): string | null {
  return CSV_READERS[format] ?? null;
}

export function extensionOf(format: ReportFormat): string {
  return FORMATS[format].extension;
}

/** Writes a result of any size; text is UTF-8 and decimals keep their digits. */
export function streamReport(result: StreamedResult, format: ReportFormat, options: TableOptions = {}) {
  const { stream, ...form }: Format = FORMATS[format];
  return { ...form, parts: stream(result, options) };
}

export async function renderReport(result: ReportResult, format: ReportFormat, options: TableOptions = {}) {
  const { rows, ...rest } = result;
  const { parts, ...form } = streamReport({ ...rest, batches: inOneBatch(rows) }, format, options);
  return { ...form, body: form.isBinary ? await bytesOf(parts) : await textOf(parts) };
}

export async function* inOneBatch(rows: ReportResult['rows']): StreamedResult['batches'] {
  yield rows;
}

function whole(
  render: (result: ReportResult, options: TableOptions) => string | Promise<string>,
): Format['stream'] {
  return async function* ({ batches, ...result }, options) {
    const rows: ReportResult['rows'][number][] = [];
    for await (const batch of batches) for (const row of batch) rows.push(row);
    yield await render({ ...result, rows }, options);
  };
}

function text(contentType: string, extension: string, stream: Format['stream']): Format {
  return { contentType, extension, stream, isBinary: false };
}

function binary(contentType: string, extension: string, stream: Format['stream']): Format {
  return { contentType, extension, stream, isBinary: true };
}
