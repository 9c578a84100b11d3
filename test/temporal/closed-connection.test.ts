/**
 * What our own additions to the client's connection do: letting go of a Temporal that is away, while calls to it are being tried
 * again, ends calls and not the process; and a call says its namespace without an AsyncLocalStorage.
 */

import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openConnection } from '../../temporal/connect.ts';

let server: Http2Server;
let asked = 0;
let namespaces: unknown[] = [];

/** Answers the greeting with an empty message, and everything else with UNAVAILABLE, as a server that shuts down. */
function answer(stream: ServerHttp2Stream, path: string): void {
  const isGreeting = path.endsWith('/GetSystemInfo');
  if (!isGreeting) asked += 1;
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': isGreeting ? '0' : '14' }));
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.end(isGreeting ? Buffer.alloc(5) : undefined);
}

beforeEach(async () => {
  server = createServer();
  namespaces = [];
  server.on('stream', (stream, headers) => {
    if (headers['temporal-namespace'] !== undefined) namespaces.push(headers['temporal-namespace']);
    answer(stream, headers[':path'] ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.close();
});

test('a call that is being tried again fails once the connection is closed, and nothing else happens', async () => {
  const { port } = server.address() as AddressInfo;
  const connection = await openConnection({ address: `127.0.0.1:${port}` });
  const call = connection.workflowService.describeNamespace({ namespace: 'default' });
  const failed = expect(call).rejects.toThrow(/CANCELLED|shut down|UNAVAILABLE/);
  while (asked < 2) await sleep(10);
  await connection.close();
  await failed;
  // An error in a timer would be uncaught, which fails the run.
  await sleep(500);
});

test('each of two calls at once says its own namespace, and none enables the AsyncLocalStorage', async () => {
  const { port } = server.address() as AddressInfo;
  const connection = await openConnection({ address: `127.0.0.1:${port}` });
  const isEnabled = (): unknown => Reflect.get(connection.callContextStorage, 'enabled');
  const calls = ['one', 'two'].map((namespace) =>
    connection.workflowService.getSystemInfo({ namespace } as object),
  );
  await Promise.all([...calls, connection.workflowService.getSystemInfo({})]);
  expect(namespaces).toEqual(['one', 'two']);
  expect(isEnabled()).toBe(false);
  await connection.close();
});
