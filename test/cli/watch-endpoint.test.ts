/** Whether the endpoint answers is asked from outside, through TLS; silence, a refusal and a 503 are all seen. */

import { createServer as createHttp } from 'node:http';
import { createServer, type Server } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { type EndpointState, probeEndpoint, watchEndpoint } from '../../cli/roles/watch-endpoint.ts';

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

async function listening(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Takes connections and says nothing: the TLS handshake never ends. */
function silent(): Server {
  return createServer((socket) => socket.on('error', () => undefined));
}

const answering = (status: () => number): Server =>
  createHttp((_request, response) => response.writeHead(status()).end());

describe('probeEndpoint', () => {
  test('accepts 200 only', async () => {
    const well = await listening(answering(() => 200));
    const full = await listening(answering(() => 503));
    expect(await probeEndpoint(`http://127.0.0.1:${well}/hooks`)).toEqual({ isHealthy: true, detail: '' });
    expect((await probeEndpoint(`http://127.0.0.1:${full}/hooks`)).detail).toMatch(/answers 503/);
  });

  test('detects a hung and a closed endpoint', async () => {
    const port = await listening(silent());
    expect((await probeEndpoint(`https://127.0.0.1:${port}/`, 50)).detail).toMatch(
      /does not answer in 0.05 s/,
    );
    expect((await probeEndpoint('https://127.0.0.1:1/')).detail).toMatch(/does not answer \(ECONNREFUSED\)/);
  });
});

describe('watchEndpoint', () => {
  test('reports the second failure in a row and its end', async () => {
    const asked: number[] = [];
    const answers = [200, 503, 200, 503, 503, 200];
    const port = await listening(
      answering(() => {
        const status = answers[asked.length] ?? 200;
        asked.push(status);
        return status;
      }),
    );
    const told: EndpointState[] = [];
    await new Promise<void>((resolve) => {
      const watch = watchEndpoint({
        url: () => `http://127.0.0.1:${port}/`,
        ...{ everyMs: 5, againMs: 5 },
        onState(state) {
          told.push(state);
          if (told.length < 4) return;
          watch.close();
          resolve();
        },
      });
    });
    expect(told.map(({ isHealthy }) => isHealthy)).toEqual([true, true, false, true]);
  });
});
