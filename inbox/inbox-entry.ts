/** How a delivery lies in the inbox: one line of JSON about it, then its body, byte for byte. */

import type { DeliveryKind, InboxEntry } from './inbox.js';

/** The name of an entry. Each kind has its own ids; ids are compared without case, as file systems may. */
export function keyOf(entry: { readonly kind: DeliveryKind; readonly eventId: string }): string {
  const id = entry.eventId.toLowerCase();
  if (!/^[0-9a-z][0-9a-z_-]{1,127}$/.test(id)) throw new RangeError('An event id that cannot name a file.');
  return entry.kind === 'event' ? id : `${entry.kind}.${id}`;
}

/** What a name says without looking into the file. */
export function namedBy(key: string): { readonly kind: DeliveryKind; readonly eventId: string } {
  const [first, second] = key.split('.');
  if (second === undefined) return { kind: 'event', eventId: key };
  return { kind: first === 'test' ? 'test' : 'refused', eventId: second };
}

/** @param sequence orders the deliveries that one process accepted within a millisecond */
export function encodeEntry(entry: InboxEntry, sequence: number, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ ...entry, sequence })}\n`), body]);
}

export function decodeEntry(bytes: Uint8Array): { entry: InboxEntry; sequence: number; body: Uint8Array } {
  const headEnd = bytes.indexOf(0x0a);
  const { sequence, ...entry } = JSON.parse(
    Buffer.from(bytes.subarray(0, headEnd)).toString(),
  ) as InboxEntry & {
    sequence: number;
  };
  return { entry, sequence, body: bytes.subarray(headEnd + 1) };
}
