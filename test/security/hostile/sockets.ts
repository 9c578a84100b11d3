/**
 * Connections that only take the place of others: silent, with half a handshake, half closed, with slow headers and slow bodies;
 * each is opened again when it ends. Only against an endpoint on loopback.
 *
 * As a program (`PORT SOCKETS SOURCES`) it runs until its parent's pipe closes; ten times a second and at its end it prints a
 * line with the number of opened connections.
 */

import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export type HostileSockets = ReturnType<typeof openHostileSockets>;

type Target = { readonly port: number; readonly host: string; readonly localAddress: string };

const RENEW_AFTER_MS = 100;
/** After a refused connection: sixty that tried again every 100 ms took 184 ms of processor time a second. */
const RENEW_REFUSED_AFTER_MS = 1_000;
const DRIP_MS = 1_000;

const KINDS: Readonly<Record<string, (target: Target) => Socket>> = {
  silent: (target) => connectTcp({ ...target, allowHalfOpen: true }),
  'half closed': (target) => {
    const socket = connectTcp({ ...target, allowHalfOpen: true });
    return socket.once('connect', () => socket.end());
  },
  'half a handshake': (target) => {
    const socket = connectTcp({ ...target, allowHalfOpen: true });
    return socket.once('connect', () => socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])));
  },
  'slow headers': (target) => dripping(target, 'POST /webhooks/billing HTTP/1.1\r\nx-slow: '),
  'slow body': (target) =>
    dripping(
      target,
      'POST /webhooks/billing HTTP/1.1\r\nhost: x\r\nauthorization: Basic eDp5\r\ncontent-length: 9999\r\n\r\n',
    ),
  'half closed after its handshake': (target) => {
    const socket = overTls(target);
    return socket.once('secureConnect', () => socket.end('POST /webhooks/billing HTTP/1.1\r\n'));
  },
};

/** @param options.sources addresses of 127.0.0.0/8 that the connections come from, in turn */
export function openHostileSockets(options: {
  readonly port: number;
  readonly sockets: number;
  readonly sources: readonly string[];
}) {
  const kinds = Object.entries(KINDS);
  const opened: Record<string, number> = {};
  const open = new Map<number, Socket>();
  let isClosed = false;

  function start(nth: number): void {
    const [kind, connect] = kinds[nth % kinds.length] ?? [];
    const localAddress = options.sources[Math.floor(nth / kinds.length) % options.sources.length];
    if (isClosed || kind === undefined || connect === undefined || localAddress === undefined) return;
    opened[kind] = (opened[kind] ?? 0) + 1;
    const socket = connect({ port: options.port, host: '127.0.0.1', localAddress });
    open.set(nth, socket);
    let pauseMs = RENEW_REFUSED_AFTER_MS;
    socket.once('connect', () => {
      pauseMs = RENEW_AFTER_MS;
    });
    socket.on('error', () => undefined);
    // Half open on purpose: only what the other side closes whole comes back.
    socket.on('end', () => socket.destroy()).resume();
    socket.on('close', () => {
      if (!isClosed) setTimeout(() => start(nth), pauseMs).unref();
    });
  }

  for (let nth = 0; nth < options.sockets; nth += 1) start(nth);
  return {
    opened: () => opened,
    close() {
      isClosed = true;
      for (const socket of open.values()) socket.destroy();
    },
  };
}

function overTls(target: Target): Socket {
  const socket = connectTcp({ ...target, allowHalfOpen: true }).on('error', () => undefined);
  return connectTls({ socket, rejectUnauthorized: false });
}

function dripping(target: Target, beginning: string): Socket {
  const socket = overTls(target);
  let timer: NodeJS.Timeout | undefined;
  socket.once('secureConnect', () => {
    socket.write(beginning);
    timer = setInterval(() => socket.write('a'), DRIP_MS);
  });
  return socket.once('close', () => clearInterval(timer));
}

if (import.meta.main) {
  const [port, sockets, sources = ''] = process.argv.slice(2);
  const attack = openHostileSockets({
    port: Number(port),
    sockets: Number(sockets),
    sources: sources.split(','),
  });
  const report = (then?: () => void): boolean =>
    process.stdout.write(`${JSON.stringify(attack.opened())}\n`, then);
  setInterval(report, 100);
  process.stdin.resume().on('end', () => report(() => process.exit(0)));
}
