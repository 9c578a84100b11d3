/** Draws a result for the terminal: fits the width, numbers aligned at their point, text cut with an ellipsis. */

import Table from 'cli-table3';
import type { ReportColumn, ReportResult, ReportRow } from '../report-result.js';
import { cellLabel, columnLabel } from './labels.js';

export interface TableOptions {
  /** Columns of the terminal; undefined when nobody looks at it, then nothing is cut. */
  readonly width?: number | undefined;
  readonly color?: boolean | undefined;
}

const LEAST_TEXT_WIDTH = 8;
const LEAST_BAR_WIDTH = 8;
/** Border and padding that every column costs. */
const COLUMN_OVERHEAD = 3;

export function renderTable(result: ReportResult, options: TableOptions = {}): string {
  if (result.rows.length === 0) return 'No rows.\n';
  const bar = barOf(result);
  const cells = result.rows.map((row) =>
    result.columns.map((column) => visible(cellLabel(row[column.name] ?? null, column))),
  );
  const heads = result.columns.map(columnLabel);
  const natural = heads.map((_, index) =>
    Math.max(longestWord(heads[index] ?? ''), ...cells.map((row) => (row[index] ?? '').length)),
  );
  const widths = fitted(natural, result.columns, options.width);
  const left = options.width === undefined ? 0 : options.width - lineWidth(widths) - COLUMN_OVERHEAD;
  const barWidth = bar && left >= LEAST_BAR_WIDTH ? Math.min(left, 24) : 0;
  const table = new Table({
    head: barWidth > 0 ? [...heads, ''] : heads,
    colWidths: [...widths, ...(barWidth > 0 ? [barWidth] : [])].map((width) => width + 2),
    colAligns: [
      ...result.columns.map((column) => column.align),
      ...(barWidth > 0 ? (['left'] as const) : []),
    ],
    wordWrap: true,
    style: { head: options.color ? ['bold'] : [], border: options.color ? ['gray'] : [] },
    chars: SPARE_LINES,
  });
  for (const [index, row] of cells.entries()) {
    const cut = row.map((cell, column) => shortened(cell, widths[column] ?? cell.length));
    const source = result.rows[index];
    table.push(barWidth > 0 && bar && source ? [...cut, drawn(bar(source), barWidth)] : cut);
  }
  return `${table.toString()}\n`;
}

/** No line between rows: a report is read across, and twice as much of it fits. */
const SPARE_LINES = { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' };

/** How long a row's bar is, 0 to 1, within its currency; undefined when the report has no bar chart. */
function barOf(result: ReportResult): ((row: ReportRow) => number) | undefined {
  const value = result.charts.find((chart) => chart.kind === 'bar')?.roles.value;
  if (value === undefined) return undefined;
  const size = (row: ReportRow): number => Math.max(0, Number(row[value] ?? 0));
  const largest = new Map<unknown, number>();
  for (const row of result.rows) {
    const currency = row.currency_code;
    largest.set(currency, Math.max(largest.get(currency) ?? 0, size(row)));
  }
  return (row) => size(row) / (largest.get(row.currency_code) || 1);
}

function drawn(share: number, width: number): string {
  const eighths = Math.round(share * width * 8);
  const part = eighths % 8;
  return '█'.repeat(Math.floor(eighths / 8)) + (part > 0 ? ('▏▎▍▌▋▊▉'[part - 1] ?? '') : '');
}

/** Text gives way before numbers do; numbers are never cut. */
function fitted(
  natural: readonly number[],
  columns: readonly ReportColumn[],
  width: number | undefined,
): number[] {
  const widths = [...natural];
  if (width === undefined) return widths;
  while (lineWidth(widths) > width) {
    let widest = -1;
    for (const [index, column] of columns.entries()) {
      const size = widths[index] ?? 0;
      if (column.type !== 'text' || size <= LEAST_TEXT_WIDTH) continue;
      if (widest < 0 || size > (widths[widest] ?? 0)) widest = index;
    }
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + COLUMN_OVERHEAD, 1);
}

function longestWord(text: string): number {
  return Math.max(...text.split(' ').map((word) => word.length));
}

function shortened(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text;
}

/** Control characters must not reach a terminal: they could move the cursor or change its title. */
function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (letter) =>
    letter === '\n' ? '⏎' : `\\x${letter.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
