/** Text for a terminal: coloured where that is wanted, and harmless whoever wrote it. */

import { styleText } from 'node:util';
import { hasColors } from '../../lib/runtime.ts';
import { visible } from '../../lib/wire/text.ts';

/** Color for what is written to `stream`; plain where that shows none. */
export function paint(
  style: Parameters<typeof styleText>[0],
  text: string,
  stream: { readonly isTTY?: boolean } = process.stdout,
): string {
  // styleText's own look at the streams is for stdout alone.
  return hasColors(stream) ? styleText(style, text, { validateStream: false }) : text;
}

/** Text of others, with everything invisible written out; a value that is not there is a dash. */
export function printable(value: string | number | null | undefined): string {
  return value === null || value === undefined ? '–' : visible(String(value));
}
