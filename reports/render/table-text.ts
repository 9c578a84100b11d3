import { blocks, fitted, line, lineWidth, type TextColumn, widestOf } from '../../lib/text-table.ts';
import type { ReportColumn, ReportRow } from '../cells.ts';
import type { ReportResult } from '../report-result.ts';
import { cellLabel, columnLabel } from './labels.ts';

export interface TableOptions {
  /** Width of the terminal; undefined for other output, of which nothing is cut or left out. */
  readonly width?: number | undefined;
  readonly color?: boolean | undefined;
}

interface Column extends TextColumn {
  readonly head: readonly string[];
  readonly isDetail: boolean;
}

const GAP = '  ';
const MIN_TEXT_WIDTH = 8;
const ALWAYS_SHOWN: ReadonlySet<string> = new Set(['currency_code', 'billing_cost']);
const MIN_BAR_WIDTH = 6;
const MAX_BAR_WIDTH = 24;

export function renderTable(result: ReportResult, options: TableOptions = {}): string {
  if (result.rows.length === 0) return 'No rows.\n';
  const all = result.columns
    .filter(({ name }) => name !== 'partner_id' || new Set(result.rows.map((row) => row[name])).size > 1)
    .map((column) => measured(result, column));
  const columns = options.width === undefined ? all : onTerminal(all, options.width);
  const leftOut = all.filter(({ name }) => columns.every((column) => column.name !== name));
  // A list of shipments without their tracking numbers would be of no use.
  if (leftOut.some(({ name, isDetail }) => name === 'tracking_number' && !isDetail)) {
    const shown = all
      .filter(({ isDetail }) => !isDetail)
      .map((column) => ({ ...column, name: column.head.join(' ') }));
    return `${blocks(shown, { rows: result.rows.length, none: '', paint: (text) => (options.color ? `\u001b[1m${text}\u001b[22m` : text) })}\n`;
  }
  const taken = lineWidth(columns.map(({ width }) => width));
  const bars = barsOf(result, options.width === undefined ? undefined : options.width - taken);
  const heads = Math.max(...columns.map((column) => column.head.length));
  const bold = (text: string): string => (options.color ? `\u001b[1m${text}\u001b[22m` : text);
  const lines: string[] = [];
  for (let nth = 0; nth < heads; nth += 1) {
    lines.push(bold(line(columns, ({ head }) => head[nth - heads + head.length] ?? '')));
  }
  lines.push(line(columns, ({ width }) => '─'.repeat(width)));
  for (const index of result.rows.keys()) {
    const bar = bars ? GAP + (bars[index] ?? '') : '';
    lines.push(line(columns, ({ cells }) => cells[index] ?? '') + bar);
  }
  if (leftOut.length > 0) {
    const names = leftOut.map(({ name }) => name).join(', ');
    const note = `Columns left out on this narrow terminal: ${names}. A wider one or --format csv shows all.`;
    lines.push('', ...wrapped(note, options.width ?? note.length));
  }
  return `${lines.map((text) => text.trimEnd()).join('\n')}\n`;
}

/** Leaves out detail columns before any other. */
function onTerminal(all: readonly Column[], width: number): readonly Column[] {
  if (lineWidth(all.map((column) => column.width)) <= width) return all;
  const columns = all.filter(({ isDetail }) => !isDetail);
  return fitted(columns, { width, minTextWidth: MIN_TEXT_WIDTH });
}

function measured(result: ReportResult, column: ReportColumn): Column {
  const { name, align, isDetail, type } = column;
  const cells = result.rows.map((row) => cellLabel(row[name] ?? null, column));
  const label = columnLabel(column);
  const width = Math.max(widestOf(cells), ...label.split(' ').map((part) => part.length));
  const isKept = ALWAYS_SHOWN.has(name);
  return {
    name,
    align,
    isDetail,
    isKept,
    canShrink: type === 'text',
    cells,
    width,
    head: wrapped(label, width),
  };
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

/** Bars in proportion to the largest of the currency; undefined without room or chart. */
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
