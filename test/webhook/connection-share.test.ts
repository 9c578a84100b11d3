/** Who holds many connections without credentials pays for who wants one. */

import { describe, expect, test } from 'vitest';
import { type ConnectionShare, createConnectionShare, type Verdict } from '../../webhook/connection-share.ts';

interface Named {
  readonly name: string;
}

function arrivals(limits: { total: number; perAddress: number }): {
  share: ConnectionShare<Named>;
  arrive: (
    address: string,
    atMs: number,
    isProxy?: boolean,
  ) => { connection: Named; verdict: Verdict<Named> };
} {
  const share = createConnectionShare<Named>(limits);
  let count = 0;
  return {
    share,
    arrive(address, atMs, isProxy = false) {
      count += 1;
      const connection = { name: `${address} ${count}` };
      return { connection, verdict: share.admit(connection, { address, isProxy }, atMs) };
    },
  };
}

describe('when there is no room', () => {
  test('the oldest connection of the address with the most strangers makes it', () => {
    const { arrive } = arrivals({ total: 8, perAddress: 8 });
    const first = arrive('many', 0).connection;
    arrive('few', 0);
    for (let nth = 0; nth < 4; nth += 1) arrive('many', 0);
    expect(arrive('honest', 1).verdict).toEqual({ kind: 'take', end: first });
  });

  test('an address does not push out its own before they had time to say who they are', () => {
    const { arrive } = arrivals({ total: 4, perAddress: 2 });
    const first = arrive('one', 0).connection;
    arrive('one', 0);
    expect(arrive('one', 100).verdict).toEqual({ kind: 'refuse' });
    expect(arrive('one', 60_000).verdict).toEqual({ kind: 'take', end: first });
  });

  test('a quarter is left to addresses that delivered before', () => {
    const { share, arrive } = arrivals({ total: 8, perAddress: 8 });
    const before = arrive('known', 0).connection;
    share.prove(before);
    share.leave(before);
    for (let nth = 0; nth < 20; nth += 1) arrive(`stranger ${nth}`, 0);
    expect(share.size).toBe(6);
    expect(arrive('known', 0).verdict).toEqual({ kind: 'take', end: null });
    expect(arrive('known', 0).verdict).toEqual({ kind: 'take', end: null });
    expect(share.size).toBe(8);
  });

  test('a connection with right credentials never makes room', () => {
    const { share, arrive } = arrivals({ total: 4, perAddress: 4 });
    const proven = Array.from({ length: 4 }, () => {
      const { connection } = arrive('sender', 0);
      share.prove(connection);
      return connection;
    });
    expect(arrive('stranger', 60_000).verdict).toEqual({ kind: 'refuse' });
    for (const connection of proven) share.leave(connection);
    expect(arrive('stranger', 60_000).verdict).toEqual({ kind: 'take', end: null });
  });
});

test('an address is known once it delivered, and a proxy is none: both may hold more than the rest', () => {
  const { share, arrive } = arrivals({ total: 16, perAddress: 2 });
  share.prove(arrive('known', 0).connection);
  for (let nth = 0; nth < 5; nth += 1) {
    expect(arrive('known', 0).verdict.kind).toBe('take');
    expect(arrive('proxy', 0, true).verdict.kind).toBe('take');
  }
});

test('whatever comes and goes, the count is right in the end', () => {
  const { share, arrive } = arrivals({ total: 10, perAddress: 4 });
  const open = new Set<Named>();
  for (let nth = 0; nth < 5_000; nth += 1) {
    const { connection, verdict } = arrive(`address ${nth % 7}`, nth * 100);
    if (verdict.kind === 'take') {
      open.add(connection);
      if (verdict.end !== null) open.delete(verdict.end);
    }
    if (nth % 3 === 0) share.prove(connection);
    const [oldest] = open;
    if (nth % 2 === 0 && oldest !== undefined) {
      share.leave(oldest);
      open.delete(oldest);
    }
    expect(share.size).toBe(open.size);
    expect(share.size).toBeLessThanOrEqual(10);
  }
  for (const connection of open) share.leave(connection);
  expect(share.size).toBe(0);
  expect(arrive('new', 0).verdict).toEqual({ kind: 'take', end: null });
});
