import { createServer as createHttp } from 'node:http';
import { createServer, type Server } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { endpointCheck, probeEndpoint } from '../../cli/roles/watch-endpoint.ts';
import { listen } from '../support/listen.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

async function listening(server: Server): Promise<string> {
  servers.push(server);
  return `127.0.0.1:${await listen(server)}`;
}

const answering = (status: () => number): Server =>
  createHttp((_request, response) => response.writeHead(status()).end());

test('accepts 200 only', async () => {
  const healthy = await listening(answering(() => 200));
  expect(await probeEndpoint(`http://${healthy}/hooks`)).toEqual({ isHealthy: true, detail: '' });
  const full = await listening(answering(() => 503));
  expect((await probeEndpoint(`http://${full}/hooks`)).detail).toMatch(/answers 503/);
});

test('detects a hung and a closed endpoint', async () => {
  // The TLS handshake never ends.
  const silent = await listening(createServer((socket) => socket.on('error', () => undefined)));
  expect((await probeEndpoint(`https://${silent}/`, 50)).detail).toMatch(/does not answer in 0.05 s/);
  expect((await probeEndpoint('https://127.0.0.1:1/')).detail).toMatch(/does not answer \(ECONNREFUSED\)/);
});

test('reports the second failure in a row and its end', async () => {
  const answers = [200, 503, 200, 503, 503, 200];
  const endpoint = await listening(answering(() => answers.shift() ?? 200));
  const states: boolean[] = [];
  const { alerts, calls } = memoryAlerts();
  const check = endpointCheck(() => `http://${endpoint}/`, {
    health: {
      set: (_, { isHealthy }) => states.push(isHealthy),
      report: () => ({ isReady: true, isWell: true, status: 'ok', components: {} }),
    },
    alerts,
  });
  for (let time = 0; time < 4; time += 1) await check.run(new AbortController().signal);
  expect(states).toEqual([true, true, false, true]);
  expect(calls.slice(2)).toEqual(['raised endpoint/unanswered', 'resolved endpoint/unanswered']);
});
