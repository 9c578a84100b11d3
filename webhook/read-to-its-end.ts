/**
 * Reads what a refused sender still sends, so that it can read its answer.
 *
 * A socket that is closed while bytes of its peer are unread is reset, and a reset throws away the answer that was on its way:
 * the sender hears "connection reset" instead of 401 or 413, and a proxy in between makes a 502 of it.
 */

import type { IncomingMessage } from 'node:http';

export interface LingerLimits {
  readonly bytes: number;
  readonly ms: number;
}

/** Resolves when the request has come to its end, has gone, or has taken more than a refused one may. */
export function readToItsEnd(request: IncomingMessage, most: LingerLimits): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const stop = (): void => {
      clearTimeout(timer);
      request.off('data', count).off('end', stop).off('close', stop).off('error', stop);
      resolve();
    };
    const count = (chunk: Uint8Array): void => {
      bytes += chunk.length;
      if (bytes > most.bytes) stop();
    };
    const timer = setTimeout(stop, most.ms);
    if (request.readableEnded || request.destroyed) stop();
    else request.on('data', count).on('end', stop).on('close', stop).on('error', stop);
  });
}
