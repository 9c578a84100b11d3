import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openConnection } from '../../../lib/temporal/connect.ts';

let server: Http2Server;
let calls = 0;

/** Answers GetSystemInfo with an empty message, and everything else with UNAVAILABLE, as a server that shuts down. */
function answer(stream: ServerHttp2Stream, path: string): void {
  const headers = { ':status': 200, 'content-type': 'application/grpc' };
  if (!path.endsWith('/GetSystemInfo')) {
    calls += 1;
    stream.respond({ ...headers, 'grpc-status': '14' }, { endStream: true });
    return;
  }
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.respond(headers, { waitForTrailers: true });
  stream.end(Buffer.alloc(5));
}

beforeEach(async () => {
  server = createServer();
  server.on('stream', (stream, headers) => {
    answer(stream, headers[':path'] ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.close();
});

test('fails a retried call once the connection is closed', async () => {
  const { port } = server.address() as AddressInfo;
  // An error in a timer of the first would be uncaught during the retry of the second, which fails the run.
  for (let connections = 1; connections <= 2; connections += 1) {
    const connection = await openConnection({ address: `127.0.0.1:${port}` });
    const call = connection.workflowService.describeNamespace({ namespace: 'default' });
    const failed = expect(call).rejects.toThrow(/CANCELLED|shut down|UNAVAILABLE/);
    while (calls < 2 * connections) await sleep(10);
    await connection.close();
    await failed;
  }
});
