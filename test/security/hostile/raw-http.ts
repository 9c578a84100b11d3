/** Requests as bytes: what no HTTP library would send. */

import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';

export interface RawTarget {
  readonly port: number;
  readonly isTls: boolean;
}

/** A server that sends nothing for this long waits for more; a busy machine is slow. */
const SILENCE_MS = 20_000;

/**
 * Writes the parts one after the other, each in its own packet, and reads until the server closes or is silent.
 *
 * @returns everything that came back, a character for each byte
 */
export function speak(
  { port, isTls }: RawTarget,
  parts: readonly string[],
  options: { readonly betweenMs?: number; readonly protocols?: readonly string[] } = {},
): Promise<string> {
  const { betweenMs = 0, protocols = [] } = options;
  return new Promise((resolve) => {
    const address = { port, host: '127.0.0.1' };
    const socket = isTls
      ? connectTls({ ...address, rejectUnauthorized: false, ALPNProtocols: [...protocols] })
      : connectTcp(address);
    let reply = '';
    const write = (at: number): void => {
      const part = parts[at];
      if (part === undefined || socket.destroyed) return;
      socket.write(part, 'latin1');
      setTimeout(() => write(at + 1), betweenMs);
    };
    socket.once(isTls ? 'secureConnect' : 'connect', () => write(0));
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      reply += chunk;
    });
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    // A reset is an answer too.
    socket.on('error', () => undefined).on('close', () => resolve(reply));
  });
}

/** The statuses of the answers in what came back, in order. */
export function statusesIn(reply: string): readonly number[] {
  return [...reply.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => Number(status));
}
