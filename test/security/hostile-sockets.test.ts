/** Unknown senders that only hold connections lose them, and deliveries are accepted meanwhile; the long form is hostile-sockets.long.ts. */

import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startWebhook, type Webhook, type WebhookDeps } from '../../webhook/server.ts';
import { deliverFrom } from '../chaos/hostile-sockets.ts';
import { attack } from '../support/attack.ts';
import { aDelivery, deliver, openParts } from '../webhook/a-delivery.ts';
import { openHostileSockets } from './hostile/sockets.ts';

const open: Webhook[] = [];

afterEach(() => Promise.all(open.splice(0).map((webhook) => webhook.close())));

async function start(limits: NonNullable<WebhookDeps['limits']>): Promise<Webhook> {
  const webhook = await startWebhook({ ...(await openParts()), limits });
  open.push(webhook);
  return webhook;
}

test.each([
  ['nothing at all', []],
  ['half of a handshake', [0x16, 0x03, 0x01, 0x02, 0x00, 0x01]],
  ['no TLS', [...Buffer.from('GET / HTTP/1.1\r\n\r\n')]],
])('a connection that sends %s and stays half open is ended by the endpoint', async (name, bytes) => {
  const { port } = await start({ handshakeMs: 200 });
  const sockets = Array.from({ length: 20 }, () =>
    connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined),
  );
  // Reads, but never closes its own side.
  const ends = sockets.map(async (socket) => {
    // By a reset too, for which `once` of an event would fail.
    const closed = new Promise<void>((over) => {
      socket.resume().once('end', over).once('close', over);
    });
    if (bytes.length > 0) socket.write(Buffer.from(bytes));
    await closed;
  });
  await Promise.all(ends);
  attack(`half open connections: ${name}`, { tries: sockets.length, held: ends.length });
  for (const socket of sockets) socket.destroy();
});

test('accepts deliveries of known and new senders while strangers hold connections', async () => {
  const { port, url } = await start({ connections: 24, connectionsPerAddress: 12 });
  expect(await deliverFrom('127.0.0.2', url)).toBe(200);
  const hostile = openHostileSockets({
    port,
    sockets: 120,
    sources: ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14'],
  });
  const statuses: number[] = [];
  for (let nth = 0; nth < 12; nth += 1) {
    for (const source of ['127.0.0.2', `127.0.0.${100 + nth}`])
      statuses.push(await deliverFrom(source, url).catch(() => 0));
  }
  hostile.close();
  attack('deliveries beside connections that hold room', {
    tries: statuses.length,
    held: statuses.filter((status) => status === 200).length,
  });
});

test('accepts new senders while as many addresses as there is room for hold a silent connection each and renew it', async () => {
  const { port, url } = await start({ connections: 24, connectionsPerAddress: 12 });
  const open = new Set<Socket>();
  let renewed = 0;
  let isOver = false;
  const hold = (localAddress: string): void => {
    const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
    open.add(socket);
    socket
      .on('error', () => undefined)
      .on('end', () => socket.destroy())
      .resume();
    socket.once('close', () => {
      open.delete(socket);
      renewed += 1;
      if (!isOver) setTimeout(() => hold(localAddress), 5);
    });
  };
  for (let nth = 0; nth < 60; nth += 1) hold(`127.0.2.${1 + nth}`);
  const statuses: number[] = [];
  for (let nth = 0; nth < 20; nth += 1)
    statuses.push(await deliverFrom(`127.0.3.${1 + nth}`, url).catch(() => 0));
  isOver = true;
  for (const socket of open) socket.destroy();
  expect(renewed).toBeGreaterThan(24);
  attack('new senders beside silent connections', {
    tries: statuses.length,
    held: statuses.filter((status) => status === 200).length,
  });
});

test('accepts every one of 1,500 connections at its first attempt', async () => {
  const { port } = await start({});
  const burst = Array.from({ length: 1_500 }, (_, nth) =>
    connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${11 + (nth % 8)}` }).on(
      'error',
      () => undefined,
    ),
  );
  // All have connected, and the endpoint, in this process, has accepted none: connections beyond the backlog wait a second.
  const knocking = await new Promise<number>((resolve) => {
    process.nextTick(() => resolve(countOf(port, SYN_SENT)));
  });
  for (const socket of burst) socket.destroy();
  attack('a burst of connections', { tries: burst.length, held: burst.length - knocking });
});

const SYN_SENT = '02';

/** Connections to the port in that state, from Linux's own list. */
function countOf(port: number, state: string): number {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return rows.filter((row) => row.trim().split(/\s+/).slice(2, 4).join() === `${remote},${state}`).length;
}

test('uses the address behind a trusted proxy, and ignores invented ones', async () => {
  const parts = await openParts({ trustedProxies: ['127.0.0.1/32'] });
  const webhook = await startWebhook(parts);
  open.push(webhook);
  const wrong = { authorization: 'Basic eDp5', 'x-forwarded-for': '10.9.9.9, 203.0.113.7' };
  expect((await deliver(webhook.url, aDelivery().body, { headers: wrong })).statusCode).toBe(401);
  const line = parts.logged.find((text) => text.includes('wrong credentials'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({ address: '203.0.113.7' });
});
