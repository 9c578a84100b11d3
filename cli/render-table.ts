/** Rows as a table for eyes: aligned, without frames, no wider than the terminal when words can be cut. */

import Table from 'cli-table3';
import stringWidth from 'string-width';
import { paint, printable } from './terminal-text.js';

export interface Column<T> {
  readonly title: string;
  readonly value: (row: T) => string | number | null | undefined;
  readonly align?: 'left' | 'right';
  /** Words that may be cut short where a terminal is narrow; figures and ids never are. */
  readonly canShrink?: boolean;
}

/** A table without frames, cells as wide as they must be; on a terminal no wider than that, if words can be cut. */
export function renderTable<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))));
  const terminal = process.stdout.isTTY ? process.stdout.columns : undefined;
  const fitted = terminal === undefined ? cells : shrunk(cells, columns, terminal);
  const table = new Table({
    head: columns.map(({ title }) => paint('bold', title)),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    chars: NO_FRAME,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2, compact: true },
  });
  for (const row of fitted) table.push([...row]);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const GAP = 2;
const NARROWEST = 20;

/** Takes what is too much from the widest column of words, then from the next. */
function shrunk<T>(
  cells: readonly (readonly string[])[],
  columns: readonly Column<T>[],
  terminal: number,
): readonly (readonly string[])[] {
  const widths = columns.map(({ title }, at) =>
    cells.reduce((widest, row) => Math.max(widest, stringWidth(row[at] ?? '')), stringWidth(title)),
  );
  const words = columns.map((_, at) => at).filter((at) => columns[at]?.canShrink === true);
  for (;;) {
    const excess = widths.reduce((sum, width) => sum + width + GAP, -GAP) - terminal;
    const widest = words.reduce(
      (best, at) => ((widths[at] ?? 0) > (widths[best] ?? 0) ? at : best),
      words[0] ?? -1,
    );
    const width = widths[widest] ?? 0;
    if (excess <= 0) return cells.map((row) => row.map((cell, at) => cutTo(cell, widths[at] ?? 0)));
    // It does not fit whatever is cut: then the words may as well be whole.
    if (width <= NARROWEST) return cells;
    const second = Math.max(NARROWEST, ...words.filter((at) => at !== widest).map((at) => widths[at] ?? 0));
    widths[widest] = Math.max(width - excess, Math.min(second, width - 1), NARROWEST);
  }
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

const NO_FRAME = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};
