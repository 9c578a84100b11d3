/** Columns of text: the widths that fit on a terminal, and what is cut or left out where they do not. */

import stringWidth from 'string-width';

export interface TextColumn {
  readonly name: string;
  readonly cells: readonly string[];
  readonly width: number;
  readonly align?: 'left' | 'right' | undefined;
  /** Text that may be cut on a narrow terminal; numbers and ids never are. */
  readonly canShrink: boolean;
  /** The column stays on a narrow terminal. */
  readonly isKept?: boolean;
}

const GAP = 2;

/** A line for each value, and an empty line between rows. A value that says nothing is left out. */
export function blocks(
  columns: readonly TextColumn[],
  {
    rows,
    none,
    paint,
  }: { readonly rows: number; readonly none: string; readonly paint: (text: string) => string },
): string {
  const width = widestOf(columns.map(({ name }) => name));
  const titles = columns.map(({ name }) => paint(name.padEnd(width)));
  return Array.from({ length: rows }, (_, at) =>
    columns
      .flatMap(({ cells }, column) => {
        const cell = cells[at] ?? '';
        return cell === '' || cell === none ? [] : [`${titles[column]}  ${cell}`];
      })
      .join('\n'),
  ).join('\n\n');
}

/** The largest width of the texts in columns of a terminal, of which a wide letter takes two. */
export function widestOf(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, stringWidth(text)), 0);
}

/** Cuts text, the widest first, down to `minTextWidth`; leaves out the last columns where that is not enough. */
export function fitted<Column extends TextColumn>(
  all: readonly Column[],
  { width, minTextWidth }: { readonly width: number; readonly minTextWidth: number },
): readonly Column[] {
  const columns = [...all];
  const least = ({ canShrink, width: own }: Column) => (canShrink ? Math.min(own, minTextWidth) : own);
  while (lineWidth(columns.map(least)) > width) {
    const last = columns.findLastIndex(({ isKept }, at) => at > 0 && isKept !== true);
    if (last < 0) break;
    columns.splice(last, 1);
  }
  const widths = columns.map((column) => column.width);
  while (lineWidth(widths) > width) {
    const sizes = columns.map(({ canShrink }, at) => (canShrink ? (widths[at] ?? 0) : 0));
    const widest = Math.max(...sizes);
    if (widest <= minTextWidth) break;
    widths[sizes.indexOf(widest)] = widest - 1;
  }
  return columns.map((column, at) => {
    const shown = widths[at] ?? column.width;
    return { ...column, width: shown, cells: column.cells.map((cell) => shortened(cell, shown)) };
  });
}

export function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP, -GAP);
}

export function line<Column extends TextColumn>(
  columns: readonly Column[],
  textOf: (column: Column) => string,
): string {
  return columns
    .map((column) => {
      const text = textOf(column);
      const space = ' '.repeat(Math.max(0, column.width - stringWidth(text)));
      return column.align === 'right' ? space + text : text + space;
    })
    .join(' '.repeat(GAP));
}

/** @param width the width in columns of a terminal */
export function shortened(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  for (const letter of text) {
    if (stringWidth(kept + letter) > width - 1) break;
    kept += letter;
  }
  return `${kept}…`;
}
