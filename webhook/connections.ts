import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { BlockList, isIP, type Socket } from 'node:net';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { CertificatePair } from '../lib/config/certificate-files.ts';
import type { Settings } from '../lib/config/settings.ts';
import { addressKey } from '../lib/failed-logins.ts';
import type { Metrics } from '../lib/metrics.ts';

/** The specification names no size (8); an envelope has about 2 KB. */
export const LIMITS = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  handshakeMs: 5_000,
  /** Time limit of headers and body together, after which the answer is 408. */
  requestMs: 15_000,
};

export type WebhookLimits = Readonly<typeof LIMITS> & Settings['webhook']['connectionLimits'];

const RESERVED_SHARE = 1 / 4;
/**
 * For this time a connection counts as young, because an honest sender has sent its credentials by then; so a burst of its own does
 * not displace itself.
 */
const YOUNG_MS = 2_000;
/**
 * For this time a connection of another address is not closed for a newcomer: it needs it for its handshake and the request behind
 * it.
 */
const HANDSHAKE_MS = 250;
const YOUNG_STRANGER_MS = 500;
const RESET_AFTER_MS = 1_000;

export function createServer(
  handler: RequestListener,
  pair: CertificatePair | null,
  limits: WebhookLimits,
): Server {
  const options = {
    maxHeaderSize: limits.headerBytes,
    requestTimeout: limits.requestMs,
    headersTimeout: limits.requestMs,
    keepAliveTimeout: 10_000,
    // The interval is short, because Node looks for late connections only every 30 s by default.
    connectionsCheckingInterval: Math.min(1_000, limits.requestMs),
  };
  const server =
    pair === null
      ? createHttpServer(options, handler)
      : createHttpsServer(
          { ...options, cert: pair.cert, key: pair.key, handshakeTimeout: limits.handshakeMs },
          handler,
        );
  // Closes the connection of a peer that sends requests and reads no answer.
  server.timeout = 60_000;
  // Node would answer an unknown Expect header with 417 before any hook sees the request.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  readonly sinceMs: number;
  /** True while the connection has completed no handshake, or without TLS has sent no request. */
  isSilent: boolean;
}

interface LimitDeps {
  readonly limits: Pick<WebhookLimits, 'connections' | 'connectionsPerAddress'>;
  /** Connections of a trusted proxy have no limit per address. */
  readonly isProxy: (address: string | undefined) => boolean;
  readonly metrics: Metrics;
  readonly alerts?: Alerts;
}

/**
 * Limits open connections without valid credentials; those with valid credentials are never closed. At a limit, a connection of the
 * address that has the most is closed; where no address has many, one that has completed no handshake, and then one that has sent
 * no request. Refused connections are reset a second later, because clients that are reset at once reconnect at once. @returns to
 * be called with the socket of each request with valid credentials
 */
export function limitConnections(server: Server, deps: LimitDeps): (socket: Socket) => void {
  const { connections: total, connectionsPerAddress: perAddress } = deps.limits;
  /** Connections are found by their peer, because a TLS socket and the raw socket under it are two objects. */
  const open = new Map<string, Connection>();
  const anonymous = new Map<string, Set<Connection>>();
  const known = new Set<string>();
  let resetting = 0;
  const ended = deps.metrics.counter('webhook_connections_ended_total');

  function accept(socket: Socket): boolean {
    const address = addressKey(socket.remoteAddress);
    const own = anonymous.get(address) ?? new Set();
    const isKnown = known.has(address);
    const isCrowd = !isKnown && own.size >= perAddress && !deps.isProxy(socket.remoteAddress);
    const room = isKnown ? total : Math.max(1, Math.floor(total * (1 - RESERVED_SHARE)));
    const now = performance.now();
    if (isCrowd || open.size >= room) {
      const victim = isCrowd ? olderThan(YOUNG_MS, [...own]) : strangerFor(own.size, isKnown);
      ended.inc({ reason: victim !== undefined ? 'displaced' : 'refused' });
      deps.alerts?.raise({
        key: 'webhook/connections',
        title: 'The endpoint has reached its limit of connections and closes those without credentials',
        detail: `At most ${total} in all (BILLSYNC_WEBHOOK_CONNECTIONS) and ${perAddress} without credentials from one address (BILLSYNC_WEBHOOK_CONNECTIONS_PER_ADDRESS). Behind a proxy set BILLSYNC_WEBHOOK_TRUSTED_PROXIES.`,
      });
      if (victim === undefined) return false;
      remove(victim);
      victim.socket.destroy();
    }
    const connection = { socket, address, sinceMs: now, isSilent: true };
    open.set(peerOf(socket), connection);
    anonymous.set(address, own.add(connection));
    socket.once('close', () => remove(connection));
    return true;
  }

  /** An address makes no room at the cost of one with fewer connections, so that it cannot interrupt a newcomer's handshake. */
  function strangerFor(ownSize: number, isKnown: boolean): Connection | undefined {
    const crowd = largestCrowd(isKnown, () => true);
    if (crowd.length > ownSize + 1) return crowd.find(({ isSilent }) => isSilent) ?? crowd[0];
    const now = performance.now();
    const [idle] = largestCrowd(isKnown, ({ address, isSilent, sinceMs }) => {
      const hasAsMany = (anonymous.get(address)?.size ?? 0) >= ownSize;
      return hasAsMany && now - sinceMs >= (isSilent ? HANDSHAKE_MS : YOUNG_STRANGER_MS);
    });
    if (idle !== undefined || ownSize > 0) return idle;
    return largestCrowd(isKnown, ({ isSilent }) => isSilent)[0];
  }

  /** Of one address, oldest first. */
  function largestCrowd(
    isKnown: boolean,
    counts: (connection: Connection) => boolean,
  ): readonly Connection[] {
    let largest: readonly Connection[] = [];
    for (const [address, crowd] of anonymous) {
      if (crowd.size < largest.length || (known.has(address) && !isKnown)) continue;
      const counted = [...crowd].filter(counts);
      const isOlder =
        counted.length === largest.length && (counted[0]?.sinceMs ?? 0) < (largest[0]?.sinceMs ?? 0);
      if (counted.length > largest.length || isOlder) largest = counted;
    }
    return largest;
  }

  function remove(connection: Connection): void {
    const peer = peerOf(connection.socket);
    if (open.get(peer) === connection) open.delete(peer);
    removeAnonymous(connection);
  }

  function removeAnonymous(connection: Connection): void {
    const crowd = anonymous.get(connection.address);
    if (crowd?.delete(connection) === true && crowd.size === 0) anonymous.delete(connection.address);
  }

  function refuse(socket: Socket): void {
    if (resetting >= total) {
      socket.resetAndDestroy();
      return;
    }
    resetting += 1;
    const timer = setTimeout(() => socket.resetAndDestroy(), RESET_AFTER_MS).unref();
    socket.pause().on('error', () => undefined);
    socket.once('close', () => {
      resetting -= 1;
      clearTimeout(timer);
    });
  }

  const markUsed = (socket: Socket): void => {
    const connection = open.get(peerOf(socket));
    if (connection !== undefined) connection.isSilent = false;
  };
  server.on('secureConnection', markUsed);
  server.on('request', ({ socket }) => markUsed(socket));
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (!accept(socket)) refuse(socket);
    else for (const listener of listeners) listener.call(server, socket);
  });
  return (socket) => {
    const connection = open.get(peerOf(socket));
    if (connection === undefined) return;
    removeAnonymous(connection);
    known.add(connection.address);
  };
}

function olderThan(ageMs: number, [oldest]: readonly Connection[]): Connection | undefined {
  return oldest !== undefined && performance.now() - oldest.sinceMs >= ageMs ? oldest : undefined;
}

export function createProxyCheck(networks: readonly string[]): (address: string | undefined) => boolean {
  const proxies = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    proxies.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return (text = '') => {
    const address = text.replace(/%.*$/, '');
    const family = isIP(address);
    return family !== 0 && proxies.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
