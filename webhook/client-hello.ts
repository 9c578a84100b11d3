/**
 * Lets a connection wait outside TLS until it has said its first whole record: silence, half a handshake and no TLS at
 * all cost the endpoint an open socket, but neither a context of TLS nor a timer of HTTP.
 */

import type { Socket } from 'node:net';

const RECORD_HEADER_BYTES = 5;
/** The first byte of a record that carries a handshake (RFC 8446, 5.1). */
const HANDSHAKE = 0x16;
const MOST_RECORD_BYTES = 2 ** 14;

export type FirstRecord = 'whole' | 'begun' | 'no TLS';

/** What has come so far. A hello in several records is whole for us with its first one: TLS takes over from there. */
export function firstRecordOf(bytes: Uint8Array): FirstRecord {
  if (bytes.length > 0 && bytes[0] !== HANDSHAKE) return 'no TLS';
  if (bytes.length > 1 && bytes[1] !== 3) return 'no TLS';
  const [, , , high, low] = bytes;
  if (high === undefined || low === undefined) return 'begun';
  const length = high * 256 + low;
  if (length === 0 || length > MOST_RECORD_BYTES) return 'no TLS';
  return bytes.length >= RECORD_HEADER_BYTES + length ? 'whole' : 'begun';
}

/**
 * Calls `go` when the first record is there, with its bytes put back to be read again. A connection that says something
 * else, or nothing whole in that time, is destroyed.
 */
export function afterFirstRecord(socket: Socket, withinMs: number, go: () => void): void {
  let said: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), withinMs);
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('readable', read).off('close', stop).off('error', ignore);
  };
  const read = (): void => {
    const more = socket.read() as Buffer | null;
    if (more === null) return;
    said = said.length === 0 ? more : Buffer.concat([said, more]);
    const kind = firstRecordOf(said);
    if (kind === 'begun') return;
    stop();
    if (kind === 'no TLS') {
      socket.destroy();
      return;
    }
    socket.unshift(said);
    go();
  };
  socket.on('error', ignore).on('close', stop).on('readable', read);
}

/** A reset closes it as well. */
function ignore(): void {}
