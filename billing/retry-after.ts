/** Reads Retry-After, in which an overloaded server says how long it wants to be left alone (RFC 9110, 10.2.3). */

/** Whole seconds, rounded up, from seconds or an HTTP date; null when the header is absent or unreadable. */
export function readRetryAfter(header: string | undefined, now: Date): number | null {
  const text = header?.trim();
  if (text === undefined || text === '') return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1_000));
}
