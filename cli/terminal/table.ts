import { styleText } from 'node:util';
import { hasColors } from '../../lib/runtime.ts';
import { visible, visibleCell } from '../../lib/text.ts';
import { blocks, fitted, line, widestOf } from '../../lib/text-table.ts';

export interface Column<T> {
  readonly title: string;
  readonly value: (row: T) => unknown;
  readonly align?: 'left' | 'right';
  /** Text that may be cut on a narrow terminal; numbers and ids never are. */
  readonly canShrink?: boolean;
}

const MIN_TEXT_WIDTH = 20;

/** A block for each row where a terminal is too narrow for all columns. */
export function renderTable<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const all = columns.map(({ title, value, align, canShrink = false }) => {
    const cells = rows.map((row) => {
      const cell = value(row);
      return typeof cell === 'string' ? visibleCell(cell) : printable(cell);
    });
    return { name: title, cells, width: widestOf([title, ...cells]), align, canShrink };
  });
  const width = process.stdout.isTTY ? process.stdout.columns : undefined;
  const shown = width === undefined ? all : fitted(all, { width, minTextWidth: MIN_TEXT_WIDTH });
  if (shown.length < all.length)
    return blocks(all, { rows: rows.length, none: printable(null), paint: (text) => paint('bold', text) });
  const lines = rows.map((_, at) => line(shown, ({ cells }) => cells[at] ?? '').trimEnd());
  return [paint('bold', line(shown, ({ name }) => name).trimEnd()), ...lines].join('\n');
}

export function paint(
  style: Parameters<typeof styleText>[0],
  text: string,
  stream: { readonly isTTY?: boolean } = process.stdout,
): string {
  // `styleText` looks at stdout only, so the stream is examined here.
  return hasColors(stream) ? styleText(style, text, { validateStream: false }) : text;
}

export function printable(value: unknown): string {
  return value === null || value === undefined ? '–' : visible(String(value));
}
