/** RFC 4180, CRLF. For spreadsheets, which run no formulas of it, invisible characters are written out; for programs texts are exact. */

import { visible } from '../../lib/text.ts';
import type { ReportCell, ReportColumn } from '../cells.ts';
import type { ReportResult, StreamedResult } from '../report-result.ts';

export function renderCsv({ columns, rows }: Pick<ReportResult, 'columns' | 'rows'>): string {
  return headerOf(columns) + linesOf(rows, columns);
}

export async function* streamCsv({ columns, batches }: StreamedResult): AsyncGenerator<string> {
  yield headerOf(columns);
  for await (const rows of batches) yield linesOf(rows, columns);
}

/** Without a byte order mark some spreadsheets misread UTF-8. */
export async function* streamCsvWithMark(result: StreamedResult): AsyncGenerator<string> {
  yield '\uFEFF';
  yield* streamCsv(result);
}

/** Leaves every text unchanged; an empty text is quoted, and an unknown value is an empty cell. */
export async function* streamExactCsv({ columns, batches }: StreamedResult): AsyncGenerator<string> {
  yield headerOf(columns);
  for await (const rows of batches) yield linesOf(rows, columns, exactCell);
}

function headerOf(columns: readonly ReportColumn[]): string {
  return `${columns.map((column) => quoted(column.name)).join(',')}\r\n`;
}

function linesOf(rows: ReportResult['rows'], columns: readonly ReportColumn[], write = cellText): string {
  return rows
    .map((row) => `${columns.map((column) => write(row[column.name] ?? null, column)).join(',')}\r\n`)
    .join('');
}

function exactCell(cell: ReportCell): string {
  if (cell === null) return '';
  return cell === '' ? '""' : quoted(String(cell));
}

/** Only text can be taken for a formula, not `-1.5000`. */
function cellText(cell: ReportCell, column: ReportColumn): string {
  if (cell === null) return '';
  return quoted(column.type === 'text' ? withoutFormula(visible(String(cell))) : String(cell));
}

/**
 * An apostrophe makes a spreadsheet show the text; one more before apostrophes keeps this reversible. East
 * Asian spreadsheets accept wide signs. `cli/sql/export.sql` has the same rule.
 */
function withoutFormula(text: string): string {
  return /^'*(?:[\s\p{Cf}]*[=+\-@|%＝＋－＠\t\r]|[\t\r\n])/u.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
