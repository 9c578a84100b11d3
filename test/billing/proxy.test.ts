import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createHttp, type Http } from '../../billing/http.ts';
import { listen } from '../support/listen.ts';
import { serviceSettings } from './service-settings.ts';

const URL_ASKED = 'https://billing.invalid/a';

let proxy: Server | undefined;
const opened: Http[] = [];
let connections: number;

afterEach(async () => {
  for (const http of opened.splice(0)) await http.close();
  proxy?.close();
});

async function errorThrough(onConnection: (socket: Socket) => void, deadlineMs = 10_000) {
  connections = 0;
  proxy = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  const port = await listen(proxy);
  const error = await errorAt(port, deadlineMs);
  const attempts = connections;
  // A later attempt of the first request would be counted with those of the second.
  await errorAt(port, deadlineMs);
  expect([attempts <= 3, connections]).toEqual([true, 2 * attempts]);
  return error;
}

async function errorAt(port: number, deadlineMs: number) {
  const none = { baseUrl: 'https://billing.invalid', authUrl: 'https://billing.invalid', caFile: null };
  const { service } = serviceSettings(
    { ...none, clientId: 'id', clientSecret: 'secret' },
    { dataDir: '/nowhere', httpsProxy: `http://127.0.0.1:${port}` },
  );
  const http = createHttp({ ...service, connectionsPerHost: 2 });
  opened.push(http);
  const error: Error & { readonly exitCode?: number } = await http
    .send({ url: URL_ASKED, method: 'GET' }, { deadlineMs, maxBodyBytes: 1_000 })
    .then(
      () => new Error('it answered'),
      (thrown: Error) => thrown,
    );
  const message = error.message.replace(`${port}`, 'PORT');
  return { message, exitCode: error.exitCode };
}

const answering = (text: string) => (socket: Socket) => {
  socket.once('data', () => socket.end(`HTTP/1.1 ${text}\r\n\r\n`));
};

describe('a proxy', () => {
  test.each<[string, (socket: Socket) => void, string]>([
    [
      'closes the connection after CONNECT',
      (socket) => socket.once('data', () => socket.end()),
      'closed the connection without an answer to CONNECT',
    ],
    [
      'closes every connection at once',
      (socket) => socket.end(),
      'closed the connection without an answer to CONNECT',
    ],
    [
      'resets the connection',
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
      'closed the connection without an answer to CONNECT',
    ],
    [
      'requires credentials',
      answering('407 Proxy Authentication Required'),
      'requires credentials (HTTP 407)',
    ],
    ['forbids the host', answering('403 Forbidden'), 'does not allow the connection (HTTP 403)'],
    ['does not reach the host', answering('503 Service Unavailable'), 'did not reach the host (HTTP 503)'],
  ])('that %s is named after a few attempts', async (_, onConnection, message) => {
    expect(await errorThrough(onConnection)).toEqual({
      message: `The proxy 127.0.0.1:PORT ${message}.`,
      exitCode: 5,
    });
  });

  test.each<[string, (socket: Socket) => void]>([
    ['never answers', () => undefined],
    ['answers 200 and closes', answering('200 OK')],
  ])('that %s ends a request with an error, and nothing goes on after it', async (_, onConnection) => {
    const { message, exitCode } = await errorThrough(onConnection, 300);
    expect(message).toMatch(/billing\.invalid (did not answer within 0\.3 s|cannot be reached)/);
    expect(exitCode).toBe(5);
  });
});
