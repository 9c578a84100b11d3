/** Text for a terminal: coloured where that is wanted, and harmless whoever wrote it. */

import { styleText } from 'node:util';
import { visible } from '../../contract/printable.ts';

/** Colour for what is written to `stream`; plain when that is no terminal, or NO_COLOR is set. */
export function paint(
  style: Parameters<typeof styleText>[0],
  text: string,
  stream: { readonly isTTY?: boolean } = process.stdout,
): string {
  // styleText's own look at the streams is for stdout alone.
  return stream.isTTY === true && !process.env.NO_COLOR
    ? styleText(style, text, { validateStream: false })
    : text;
}

/** Text of others, with everything invisible written out; a value that is not there is a dash. */
export function printable(value: string | number | null | undefined): string {
  return value === null || value === undefined ? '–' : visible(String(value));
}
