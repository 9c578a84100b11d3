/** How a delivery lies in the inbox: one line of JSON about it, then its body, byte for byte. */

import { z } from 'zod';
import type { DeliveryKind, InboxEntry } from './inbox.js';

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

export interface DecodedEntry {
  /** null when a broken disk damaged what was noted; the body may be whole all the same. */
  readonly noted: { readonly entry: InboxEntry; readonly sequence: number } | null;
  readonly body: Uint8Array;
}

/** Never throws. @param key of the entry: what was noted of another is damage */
export function decodeEntry(key: string, bytes: Uint8Array): DecodedEntry {
  const headEnd = bytes.indexOf(0x0a);
  const head = bytes.subarray(0, Math.max(headEnd, 0));
  const noted = readHead(Buffer.from(head).toString());
  return {
    noted: noted !== null && isNamed(noted.entry, key) ? noted : null,
    body: bytes.subarray(headEnd + 1),
  };
}

const Head = z.object({
  kind: z.enum(['event', 'test', 'refused']),
  eventId: z.string(),
  receivedAt: z.iso.datetime(),
  invoiceId: z.string().nullable(),
  code: z.string().nullable(),
  sequence: z.number(),
});

function readHead(text: string): DecodedEntry['noted'] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
  const read = Head.safeParse(json);
  if (!read.success) return null;
  const { sequence, ...entry } = read.data;
  return { entry, sequence };
}

function isNamed(entry: InboxEntry, key: string): boolean {
  const named = namedBy(key);
  return named?.kind === entry.kind && named.eventId === entry.eventId.toLowerCase();
}
