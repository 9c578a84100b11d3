/**
 * Limits the connections of a server, so that unknown senders take neither the connections nor the processor time that known
 * ones need.
 *
 * A refused connection is held for a second before it is reset, without a byte being read. If it were reset at once, the
 * client would reconnect at once: two thousand sockets that do so keep a core busy with refusing them.
 */

import type { Server, Socket } from 'node:net';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { addressKey } from '../lib/failed-logins.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { afterFirstRecord } from './client-hello.ts';
import { type ConnectionLimits, createConnectionShare } from './connection-share.ts';
import type { SenderAddresses } from './sender-address.ts';

export interface ConnectionGuard {
  /** Right credentials came on the connection of this socket, raw or of TLS. */
  prove(socket: Socket): void;
}

export interface ConnectionGuardDeps {
  readonly limits: ConnectionLimits;
  /** How long a connection may take to begin with TLS; null: there is none. */
  readonly helloMs: number | null;
  readonly senders: SenderAddresses;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly alerts?: Alerts;
}

const REPORT_EVERY_MS = 60_000;
const HELD_MS = 1_000;

/**
 * Stands in front of the server's own listeners, so that what is refused costs no handshake. Ended connections are
 * reset: a peer that does not read would keep one that is only half closed for ever.
 */
export function guardConnections(server: Server, deps: ConnectionGuardDeps): ConnectionGuard {
  const share = createConnectionShare<Socket>(deps.limits);
  const ended = deps.metrics.counter('webhook_connections_ended_total');
  /** A socket of TLS and the raw one under it are two objects with one remote port. */
  const byPeer = new Map<string, Socket>();
  const report = floodReporter(deps);
  const refuse = createRefusal(deps.limits.total);
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    const from = { address: addressKey(remoteAddress), isProxy: deps.senders.isProxy(remoteAddress) };
    const verdict = share.admit(socket, from, performance.now());
    if (verdict.kind === 'refuse') {
      ended.inc({ why: 'refused' });
      report(from.address);
      refuse(socket);
      return;
    }
    if (verdict.end !== null) {
      ended.inc({ why: 'made room' });
      report(from.address);
      verdict.end.destroy();
    }
    const peer = peerOf(socket);
    byPeer.set(peer, socket);
    socket.once('close', () => {
      share.leave(socket);
      if (byPeer.get(peer) === socket) byPeer.delete(peer);
    });
    const serve = (): void => {
      for (const listener of listeners) listener.call(server, socket);
    };
    if (deps.helloMs === null) serve();
    else afterFirstRecord(socket, deps.helloMs, serve);
  });
  return {
    prove(socket) {
      const raw = byPeer.get(peerOf(socket));
      if (raw !== undefined) share.prove(raw);
    },
  };
}

/** Resets connections a second later. @param most are held at a time; beyond that the oldest goes at once */
function createRefusal(most: number): (socket: Socket) => void {
  const held = new Set<Socket>();
  return (socket) => {
    const [oldest] = held;
    if (oldest !== undefined && held.size >= most) oldest.resetAndDestroy();
    held.add(socket);
    const timer = setTimeout(() => socket.resetAndDestroy(), HELD_MS).unref();
    socket.pause();
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      held.delete(socket);
    });
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** A flood is logged once a minute, and alerted once per quiet window. */
function floodReporter({ log, alerts, limits }: ConnectionGuardDeps): (address: string) => void {
  let reportedMs = Number.NEGATIVE_INFINITY;
  let unreported = 0;
  return (address) => {
    unreported += 1;
    if (performance.now() - reportedMs < REPORT_EVERY_MS) return;
    reportedMs = performance.now();
    log.warn(
      { address, connections: unreported },
      'connections to the endpoint were refused or closed: too many without credentials are open',
    );
    unreported = 0;
    alerts?.raise({
      key: 'webhook/connections',
      title: 'The endpoint has reached its limit of connections; those without credentials are closed.',
      detail: `Most recently from ${address}. At most ${limits.total} in all (BILLSYNC_WEBHOOK_CONNECTIONS) and ${limits.perAddress} without credentials from one address (BILLSYNC_WEBHOOK_CONNECTIONS_PER_ADDRESS). Behind a proxy set BILLSYNC_WEBHOOK_TRUSTED_PROXIES.`,
    });
  };
}
