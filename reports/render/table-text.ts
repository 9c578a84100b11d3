import stringWidth from 'string-width';
import type { ReportColumn, ReportRow } from '../cells.ts';
import type { ReportResult } from '../report-result.ts';
import { cellLabel, columnLabel } from './labels.ts';

export interface TableOptions {
  /** Undefined: not a terminal, so nothing is cut or left out. */
  readonly width?: number | undefined;
  readonly color?: boolean | undefined;
}

interface Column {
  readonly column: ReportColumn;
  readonly head: readonly string[];
  readonly cells: readonly string[];
  readonly width: number;
}

const GAP = '  ';
const MIN_TEXT_WIDTH = 8;
const ALWAYS_SHOWN: ReadonlySet<string> = new Set(['currency_code', 'billing_cost']);
const MIN_BAR_WIDTH = 6;
const MAX_BAR_WIDTH = 24;

export function renderTable(result: ReportResult, options: TableOptions = {}): string {
  if (result.rows.length === 0) return 'No rows.\n';
  const columns = fitted(result, options.width);
  const leftOut = result.columns.filter(({ name }) => columns.every(({ column }) => column.name !== name));
  const bars = barsOf(result, options.width === undefined ? undefined : options.width - lineWidth(columns));
  const heads = Math.max(...columns.map((column) => column.head.length));
  const bold = (text: string): string => (options.color ? `\u001b[1m${text}\u001b[22m` : text);
  const lines: string[] = [];
  for (let line = 0; line < heads; line += 1) {
    lines.push(bold(joined(columns, (column) => column.head[line - heads + column.head.length] ?? '')));
  }
  lines.push(joined(columns, (column) => '─'.repeat(column.width)));
  for (const index of result.rows.keys()) {
    const bar = bars ? GAP + (bars[index] ?? '') : '';
    lines.push(joined(columns, (column) => column.cells[index] ?? '') + bar);
  }
  if (leftOut.length > 0) {
    const names = leftOut.map(({ name }) => name).join(', ');
    const note = `Columns left out on this narrow terminal: ${names}. A wider one or --format csv shows all.`;
    lines.push('', ...wrapped(note, options.width ?? note.length));
  }
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

/** Leaves out detail columns, then the last ones; shortens text, never numbers. */
function fitted(result: ReportResult, width: number | undefined): Column[] {
  const all = result.columns.map((column) => measured(result, column));
  if (width === undefined || lineWidth(all) <= width) return all;
  const columns = all.filter(({ column }) => !column.isDetail);
  const narrowest = (): number =>
    columns.reduce(
      (sum, column) =>
        sum +
        GAP.length +
        (column.column.type === 'text' ? Math.min(column.width, MIN_TEXT_WIDTH) : column.width),
      -GAP.length,
    );
  while (narrowest() > width) {
    const last = columns.findLastIndex(({ column }, at) => at > 0 && !ALWAYS_SHOWN.has(column.name));
    if (last < 0) break;
    columns.splice(last, 1);
  }
  const widths = columns.map((column) => column.width);
  const total = (): number => widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length);
  while (total() > width) {
    let widest = -1;
    for (const [index, { column }] of columns.entries()) {
      const size = widths[index] ?? 0;
      const isWider = widest < 0 || size > (widths[widest] ?? 0);
      if (column.type === 'text' && size > MIN_TEXT_WIDTH && isWider) widest = index;
    }
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return columns.map((column, index) => ({
    ...column,
    width: widths[index] ?? column.width,
    cells: column.cells.map((cell) => shortened(cell, widths[index] ?? column.width)),
  }));
}

function measured(result: ReportResult, column: ReportColumn): Column {
  const cells = result.rows.map((row) => cellLabel(row[column.name] ?? null, column));
  const label = columnLabel(column);
  const widest = cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), 0);
  const width = Math.max(widest, ...label.split(' ').map((part) => part.length));
  return { column, cells, width, head: wrapped(label, width) };
}

function wrapped(label: string, width: number): string[] {
  const lines: string[] = [];
  for (const part of label.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + part.length <= width)
      lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(part);
  }
  return lines;
}

function joined(columns: readonly Column[], of: (column: Column) => string): string {
  return columns.map((column) => padded(of(column), column)).join(GAP);
}

function padded(text: string, { column, width }: Column): string {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return column.align === 'right' ? space + text : text + space;
}

function lineWidth(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + column.width + GAP.length, -GAP.length);
}

/** In proportion to the largest of the currency; undefined: no room or no chart. */
function barsOf(result: ReportResult, room: number | undefined): string[] | undefined {
  const value = result.charts.find((chart) => chart.kind === 'bar')?.roles.value;
  const width = Math.min(MAX_BAR_WIDTH, (room ?? 0) - GAP.length);
  if (value === undefined || width < MIN_BAR_WIDTH) return undefined;
  const size = (row: ReportRow): number => Math.max(0, Number(row[value] ?? 0));
  const largest = new Map<unknown, number>();
  for (const row of result.rows) {
    largest.set(row.currency_code, Math.max(largest.get(row.currency_code) ?? 0, size(row)));
  }
  return result.rows.map((row) => drawn(size(row) / (largest.get(row.currency_code) || 1), width));
}

function drawn(share: number, width: number): string {
  const eighths = Math.round(share * width * 8);
  const part = eighths % 8;
  return '█'.repeat(Math.floor(eighths / 8)) + (part > 0 ? ('▏▎▍▌▋▊▉'[part - 1] ?? '') : '');
}

/** @param width in columns of a terminal, which a wide letter takes two of */
export function shortened(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  for (const letter of text) {
    if (stringWidth(kept + letter) > width - 1) break;
    kept += letter;
  }
  return `${kept}…`;
}
