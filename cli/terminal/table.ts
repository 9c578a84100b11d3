import { styleText } from 'node:util';
import stringWidth from 'string-width';
import { hasColors } from '../../lib/runtime.ts';
import { visible } from '../../lib/wire/text.ts';

export interface Column<T> {
  readonly title: string;
  readonly value: (row: T) => unknown;
  readonly align?: 'left' | 'right';
  /** Text that may be cut on a narrow terminal; numbers and ids never are. */
  readonly canShrink?: boolean;
}

export function renderTable<T>(rows: readonly T[], allColumns: readonly Column<T>[]): string {
  const allCells = rows.map((row) => allColumns.map(({ value }) => printable(value(row))));
  const terminal = process.stdout.isTTY ? process.stdout.columns : undefined;
  const count = terminal === undefined ? allColumns.length : fittingColumns(allCells, allColumns, terminal);
  const columns = allColumns.slice(0, count);
  const cells = count === allColumns.length ? allCells : allCells.map((row) => row.slice(0, count));
  const fitted = terminal === undefined ? cells : shrunk(cells, columns, terminal);
  const titles = columns.map(({ title }) => title);
  const widths = widthsOf(titles, fitted);
  const line = (texts: readonly string[], style: (text: string) => string): string =>
    texts
      .map((text, at) => {
        const room = ' '.repeat((widths[at] ?? 0) - stringWidth(text));
        return columns[at]?.align === 'right' ? `${room}${style(text)}` : `${style(text)}${room}`;
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  const head = line(titles, (title) => paint('bold', title));
  const leftOut = allColumns.slice(count).map(({ title }) => title);
  const note =
    leftOut.length === 0
      ? []
      : [
          '',
          `Columns left out on this narrow terminal: ${leftOut.join(', ')}. A wider terminal or --json shows all.`,
        ];
  return [head, ...fitted.map((row) => line(row, (text) => text)), ...note].join('\n');
}

function fittingColumns<T>(
  cells: readonly (readonly string[])[],
  columns: readonly Column<T>[],
  terminal: number,
): number {
  const titles = columns.map(({ title }) => title);
  let used = -GAP;
  for (const [at, width] of widthsOf(titles, cells).entries()) {
    used += GAP + (columns[at]?.canShrink === true ? Math.min(width, MIN_TEXT_WIDTH) : width);
    if (used > terminal) return Math.max(1, at);
  }
  return columns.length;
}

const GAP = 2;
const MIN_TEXT_WIDTH = 20;

function shrunk<T>(
  cells: readonly (readonly string[])[],
  columns: readonly Column<T>[],
  terminal: number,
): readonly (readonly string[])[] {
  const titles = columns.map(({ title }) => title);
  const widths = [...widthsOf(titles, cells)];
  const shrinkable = columns.map((_, at) => at).filter((at) => columns[at]?.canShrink === true);
  for (;;) {
    const excess = widths.reduce((sum, width) => sum + width + GAP, -GAP) - terminal;
    const widest = shrinkable.reduce(
      (best, at) => ((widths[at] ?? 0) > (widths[best] ?? 0) ? at : best),
      shrinkable[0] ?? -1,
    );
    const width = widths[widest] ?? 0;
    if (excess <= 0) return cells.map((row) => row.map((cell, at) => cutTo(cell, widths[at] ?? 0)));
    if (width <= MIN_TEXT_WIDTH) return cells;
    const second = Math.max(
      MIN_TEXT_WIDTH,
      ...shrinkable.filter((at) => at !== widest).map((at) => widths[at] ?? 0),
    );
    widths[widest] = Math.max(width - excess, Math.min(second, width - 1), MIN_TEXT_WIDTH);
  }
}

function widthsOf(titles: readonly string[], cells: readonly (readonly string[])[]): readonly number[] {
  const widths = titles.map((title) => stringWidth(title));
  for (const row of cells) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, stringWidth(cell));
  }
  return widths;
}

function cutTo(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  for (const character of text) {
    if (stringWidth(kept + character) >= width) break;
    kept += character;
  }
  return `${kept}…`;
}

export function paint(
  style: Parameters<typeof styleText>[0],
  text: string,
  stream: { readonly isTTY?: boolean } = process.stdout,
): string {
  // styleText's own look at the streams is for stdout alone.
  return hasColors(stream) ? styleText(style, text, { validateStream: false }) : text;
}

export function printable(value: unknown): string {
  return value === null || value === undefined ? '–' : visible(String(value));
}
