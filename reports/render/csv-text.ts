/**
 * Writes a result as CSV (RFC 4180, CRLF) that a spreadsheet opens without running formulas. Invisible characters are
 * written out; JSON and Parquet keep every text as it is.
 */

import { visible } from '../../lib/wire/text.ts';
import type { ReportCell, ReportColumn } from '../cells.ts';
import type { ReportResult, StreamedResult } from '../report-result.ts';

/** Renders any rows; the header has the columns' names, not their labels. */
export function renderCsv({ columns, rows }: Pick<ReportResult, 'columns' | 'rows'>): string {
  return headerOf(columns) + linesOf(rows, columns);
}

export async function* streamCsv({ columns, batches }: StreamedResult): AsyncGenerator<string> {
  yield headerOf(columns);
  for await (const rows of batches) yield linesOf(rows, columns);
}

/** The same for a spreadsheet that takes UTF-8 for another encoding unless a byte order mark begins it. */
export async function* streamCsvWithMark(result: StreamedResult): AsyncGenerator<string> {
  yield '\uFEFF';
  yield* streamCsv(result);
}

function headerOf(columns: readonly ReportColumn[]): string {
  return `${columns.map((column) => quoted(column.name)).join(',')}\r\n`;
}

function linesOf(rows: ReportResult['rows'], columns: readonly ReportColumn[]): string {
  return rows
    .map((row) => `${columns.map((column) => cellText(row[column.name] ?? null, column)).join(',')}\r\n`)
    .join('');
}
/** Numbers stay as they are, `-1.5000` included; only text can be taken for a formula. */
function cellText(cell: ReportCell, column: ReportColumn): string {
  if (cell === null) return '';
  return quoted(column.type === 'text' ? withoutFormula(visible(String(cell))) : String(cell));
}

/**
 * A leading apostrophe makes a spreadsheet show the text instead of computing it. A text that begins with apostrophes before a
 * formula gets one more, so that removing one from each match restores every text. Spreadsheets of
 * East Asia take the wide forms of the signs as well. `export` has the rule in SQL (cli/sql/export.sql).
 */
function withoutFormula(text: string): string {
  return /^'*(?:[\s\p{Cf}]*[=+\-@|%＝＋－＠\t\r]|[\t\r\n])/u.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
