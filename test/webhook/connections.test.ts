import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMetrics } from '../../lib/metrics.ts';
import { createProxyCheck, limitConnections } from '../../webhook/connections.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

class FakeSocket extends EventEmitter {
  static count = 0;
  readonly remotePort = FakeSocket.count++;
  readonly remoteAddress: string;
  state: 'open' | 'closed' | 'reset' = 'open';
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  pause(): this {
    return this;
  }
  destroy(): void {
    if (this.state === 'open') this.state = 'closed';
    this.emit('close');
  }
  resetAndDestroy(): void {
    this.state = 'reset';
    this.emit('close');
  }
}

function limited(connections: number, connectionsPerAddress: number) {
  const server = createServer();
  const served = new Set<FakeSocket>();
  server.removeAllListeners('connection').on('connection', (socket) => {
    served.add(socket as unknown as FakeSocket);
  });
  const authenticated = limitConnections(server, {
    limits: { connections, connectionsPerAddress },
    isProxy: createProxyCheck(['10.9.0.0/16']),
    metrics: createMetrics('webhook'),
  });
  return {
    connect(address: string): FakeSocket {
      const socket = new FakeSocket(address);
      server.emit('connection', socket as unknown as Socket);
      return socket;
    },
    authenticate: (socket: FakeSocket) => authenticated(socket as unknown as Socket),
    isServed: (socket: FakeSocket) => served.has(socket) && socket.state === 'open',
  };
}

describe('at the limit', () => {
  test('closes the oldest connection of the address with the most strangers', () => {
    const { connect, isServed } = limited(8, 8);
    const first = connect('192.0.2.1');
    const few = connect('192.0.2.2');
    for (let nth = 0; nth < 4; nth += 1) connect('192.0.2.1');
    expect(isServed(connect('192.0.2.3'))).toBe(true);
    expect([isServed(first), isServed(few)]).toEqual([false, true]);
  });

  test('an address does not displace its own recent connections; a refused one is reset a second later', () => {
    const { connect, isServed } = limited(40, 2);
    const first = connect('192.0.2.1');
    connect('192.0.2.1');
    const refused = connect('192.0.2.1');
    expect([isServed(first), isServed(refused), refused.state]).toEqual([true, false, 'open']);
    vi.advanceTimersByTime(60_000);
    expect(refused.state).toBe('reset');
    expect(isServed(connect('192.0.2.1'))).toBe(true);
    expect(isServed(first)).toBe(false);
  });

  test('a quarter is reserved for addresses that have authenticated', () => {
    const { connect, authenticate, isServed } = limited(8, 8);
    const before = connect('192.0.2.1');
    authenticate(before);
    before.destroy();
    const others = Array.from({ length: 20 }, (_, nth) => connect(`198.51.100.${nth}`));
    expect(others.filter(isServed)).toHaveLength(6);
    const known = [connect('192.0.2.1'), connect('192.0.2.1')];
    expect([...known, ...others].filter(isServed)).toHaveLength(8);
  });

  test('a connection with valid credentials is never closed', () => {
    const { connect, authenticate, isServed } = limited(4, 4);
    const authentic = Array.from({ length: 4 }, () => {
      const socket = connect('192.0.2.1');
      authenticate(socket);
      return socket;
    });
    vi.advanceTimersByTime(60_000);
    expect(isServed(connect('198.51.100.1'))).toBe(false);
    expect(authentic.every(isServed)).toBe(true);
    for (const socket of authentic) socket.destroy();
    expect(isServed(connect('198.51.100.1'))).toBe(true);
  });
});

test('an address that has authenticated and a trusted proxy have no limit of their own', () => {
  const { connect, authenticate, isServed } = limited(40, 2);
  authenticate(connect('192.0.2.1'));
  const more = Array.from({ length: 5 }, () => [connect('192.0.2.1'), connect('::ffff:10.9.1.1')]).flat();
  expect(more.every(isServed)).toBe(true);
});

test('after 5,000 connections that came and went none is counted any more', () => {
  const { connect, authenticate, isServed } = limited(10, 4);
  let open: FakeSocket[] = [];
  for (let nth = 0; nth < 5_000; nth += 1) {
    vi.advanceTimersByTime(100);
    open = [...open, connect(`192.0.2.${nth % 7}`)].filter(isServed);
    if (nth % 3 === 0) authenticate(open.at(-1) ?? connect('192.0.2.99'));
    if (nth % 2 === 0) open[0]?.destroy();
    expect(open.filter(isServed).length).toBeLessThanOrEqual(10);
  }
  for (const socket of open) socket.destroy();
  const fresh = Array.from({ length: 7 }, (_, nth) => connect(`198.51.100.${nth}`));
  expect(fresh.every(isServed)).toBe(true);
});
