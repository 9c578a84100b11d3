/** Tells an invoice CSV from what a service sends in its place (a page, a notice, an archive), by its first bytes. */

import { CSV_HEADERS } from '../lib/wire/csv-file.ts';
import { formatOf } from '../lib/wire/file-format.ts';
import { printable } from '../lib/wire/text.ts';

/** As much as is looked at; a header line is shorter. */
export const HEAD_BYTES = 1_024;

const COLUMNS = new Set(CSV_HEADERS.map((name) => name.toLowerCase()));
/** This many of our columns by name prove the header line of an invoice, whatever the content type says. */
const PROVING_COLUMNS = 3;
const OTHER_TYPES =
  /^(?:text\/html|application\/(?:[\w.-]+\+)?(?:json|xml|pdf|zip)|text\/(?:xml|json)|image\/)/i;

/**
 * Why the bytes are no CSV at all; null when they are one, be it one that breaks every rule: the scanner says which.
 *
 * @param head the first bytes, decoded, at most `HEAD_BYTES`
 */
export function whyNoCsv(head: Uint8Array, contentType: string | undefined): string | null {
  if (head.length === 0) return 'the answer is empty';
  const text = new TextDecoder().decode(head);
  const [line = ''] = text.split(/[\r\n]/, 1);
  const names = line.split(/[,;\t]/).map((name) => name.trim().replace(/^"|"$/g, '').toLowerCase());
  if (names.filter((name) => COLUMNS.has(name)).length >= PROVING_COLUMNS) return null;
  const [first = ''] = text.trimStart();
  if (first === '') return 'the answer is blank';
  if ('<{['.includes(first) || text.startsWith('%PDF')) {
    return `the answer begins with ${JSON.stringify(printable(text.trimStart(), 40))}`;
  }
  const format = formatOf(head);
  if (format !== null || head.includes(0)) return `the answer is ${format?.name ?? 'no text'}`;
  const type = contentType?.trim() ?? '';
  return OTHER_TYPES.test(type) ? `the answer is of the type ${printable(type, 60)}` : null;
}
