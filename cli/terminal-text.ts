/** Text for a terminal: coloured where that is wanted, and harmless whoever wrote it. */

import { styleText } from 'node:util';

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

/** Text of others may hold control characters that would move the cursor or forge a line; a line break becomes ⏎. */
export function printable(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  return String(value)
    .replace(/\r?\n/g, '⏎')
    .replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return `\\u${code.toString(16).padStart(4, '0')}`;
    });
}
