/** The first bytes of a connection, before TLS is asked. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { afterFirstRecord, firstRecordOf } from '../../webhook/client-hello.ts';

const HELLO = Buffer.from([0x16, 3, 1, 0, 4, 1, 2, 3, 4]);

test.each([
  ['nothing', [], 'begun'],
  ['the type alone', [0x16], 'begun'],
  ['half of the length', [0x16, 3, 1, 0], 'begun'],
  ['all but the last byte', [...HELLO.subarray(0, -1)], 'begun'],
  ['a whole record', [...HELLO], 'whole'],
  ['a record and a byte more', [...HELLO, 0x16], 'whole'],
  ['an empty record', [0x16, 3, 1, 0, 0], 'no TLS'],
  ['a record longer than any', [0x16, 3, 1, 0x40, 1], 'no TLS'],
  ['an alert', [0x15, 3, 1, 0, 2], 'no TLS'],
  ['HTTP', [...Buffer.from('GET / HTTP/1.1')], 'no TLS'],
  ['a handshake of no version of TLS', [0x16, 2], 'no TLS'],
] as const)('%s is checked', (_name, bytes, kind) => {
  expect(firstRecordOf(Uint8Array.from(bytes))).toBe(kind);
});

test('a hello that comes byte by byte is handed on whole, once', async () => {
  const taken: Socket[] = [];
  const server = createServer((socket) => afterFirstRecord(socket, 5_000, () => taken.push(socket)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay();
  await once(client, 'connect');
  for (const byte of HELLO) {
    expect(taken).toEqual([]);
    client.write(Uint8Array.of(byte));
    await sleep(5);
  }
  await expect.poll(() => taken.length).toBe(1);
  expect(taken[0]?.read()).toEqual(HELLO);
  client.destroy();
  server.close();
});
