/**
 * How a delivery lies in the inbox: one line of JSON about it, then its body, byte for byte. Deliveries that came together lie in one
 * file, one after the other, below a line that says how long each is; each has its own name for that file.
 */

import { z } from 'zod';
import type { DeliveryKind, InboxEntry } from './inbox.ts';

/** The name of an entry. Each kind has its own ids; ids are compared without case, as file systems may. */
export function keyOf(entry: { readonly kind: DeliveryKind; readonly eventId: string }): string {
  const id = entry.eventId.toLowerCase();
  if (!/^[0-9a-z][0-9a-z_-]{1,127}$/.test(id)) throw new RangeError('An event id that cannot name a file.');
  return entry.kind === 'event' ? id : `${entry.kind}.${id}`;
}

/** What a name says without looking into the file; null when it names no entry, as a file manager's `.DS_Store`. */
export function namedBy(name: string): { readonly kind: DeliveryKind; readonly eventId: string } | null {
  const [, kind = 'event', eventId] = /^(?:(test|refused)\.)?([0-9a-z][0-9a-z_-]{1,127})$/.exec(name) ?? [];
  return eventId === undefined ? null : { kind: kind as DeliveryKind, eventId };
}

/** @param sequence orders the deliveries that one process accepted within a millisecond */
export function encodeEntry(entry: InboxEntry, sequence: number, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ ...entry, sequence })}\n`), body]);
}

/** One file of several entries, for `notedIn` and `bodyOf`; of one it is the entry itself. */
export function encodeTogether(
  parts: readonly { readonly key: string; readonly bytes: Uint8Array }[],
): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first.bytes;
  const together = parts.map(({ key, bytes }) => ({ key, sizeBytes: bytes.length }));
  return Buffer.concat([
    Buffer.from(`${JSON.stringify({ together })}\n`),
    ...parts.map(({ bytes }) => bytes),
  ]);
}

export interface NotedEntry {
  readonly entry: InboxEntry;
  readonly sequence: number;
}

/**
 * Never throws. @param key of the entry: what was noted of another is damage. @param file alone, or with others
 * @returns null when a broken disk damaged what was noted; the body may be whole all the same
 */
export function notedIn(key: string, file: Uint8Array): NotedEntry | null {
  const bytes = partOf(key, file);
  const head = bytes.subarray(0, Math.max(bytes.indexOf(0x0a), 0));
  const noted = readHead(Buffer.from(head).toString());
  return noted !== null && isNamed(noted.entry, key) ? noted : null;
}

/** As it was received. What was noted is not looked at: whoever forwards knows it already. */
export function bodyOf(key: string, file: Uint8Array): Uint8Array {
  const bytes = partOf(key, file);
  return bytes.subarray(bytes.indexOf(0x0a) + 1);
}

const BEGIN_TOGETHER = Buffer.from('{"together":');
const Together = z.object({
  together: z.array(z.object({ key: z.string(), sizeBytes: z.int().nonnegative() })),
});

/** All of the file when it is one entry, or when nobody can tell any more where this one lies. */
function partOf(key: string, file: Uint8Array): Uint8Array {
  if (!BEGIN_TOGETHER.equals(file.subarray(0, BEGIN_TOGETHER.length))) return file;
  const headEnd = file.indexOf(0x0a);
  const read = Together.safeParse(jsonOrNull(Buffer.from(file.subarray(0, Math.max(headEnd, 0))).toString()));
  if (!read.success) return file;
  let from = headEnd + 1;
  for (const part of read.data.together) {
    if (part.key === key) return file.subarray(from, from + part.sizeBytes);
    from += part.sizeBytes;
  }
  return file;
}

const Head = z.object({
  kind: z.enum(['event', 'test', 'refused']),
  eventId: z.string(),
  receivedAt: z.iso.datetime(),
  invoiceId: z.string().nullable(),
  code: z.string().nullable(),
  sequence: z.number(),
});

function readHead(text: string): NotedEntry | null {
  const read = Head.safeParse(jsonOrNull(text));
  if (!read.success) return null;
  const { sequence, ...entry } = read.data;
  return { entry, sequence };
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
}

function isNamed(entry: InboxEntry, key: string): boolean {
  const named = namedBy(key);
  return named?.kind === entry.kind && named.eventId === entry.eventId.toLowerCase();
}
