/** Reads Content-Encoding (RFC 9110, 8.4) as servers write it, which is not always what it is for. */

/** Words that name no encoding, though servers write them. */
const NO_ENCODING = new Set(['', 'identity', 'none', 'binary', 'utf-8', 'utf8', 'aws-chunked']);

/** In the order in which they were applied; empty when the bytes are what they are. */
export function encodingsIn(header: string | undefined): readonly string[] {
  const words = (header ?? '').split(',').map((word) => word.trim().toLowerCase());
  return words.filter((word) => !NO_ENCODING.has(word)).map((word) => word.replace(/^x-/, ''));
}
