/** The connections that a burst is sent over: kept, renewed and given up as endpoints behave, well or not. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CONNECTIONS, destinationOf, requestBytes } from '../../sandbox/delivery-request.js';
import type { Registration } from '../../sandbox/model.js';
import { PostConnection } from '../../sandbox/post-connection.js';
import { PostLine } from '../../sandbox/post-line.js';
import type { PostResult } from '../../sandbox/post-once.js';
import { ReceiverPool } from '../../sandbox/receiver-pool.js';
import { createTlsMaterial, type TlsMaterial } from '../../sandbox/tls.js';
import { until } from './support.js';

const TIMEOUT_MS = 400;
const ACCEPTED = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const accepted = { status: 200, error: null, responseBody: 'ok' };

/** An endpoint that a test writes the answers of, byte for byte. */
let server: Server;
let tls: TlsMaterial;
let sockets: TLSSocket[];
let requests: string[];
let answer: (socket: TLSSocket) => unknown;

beforeAll(async () => {
  tls = await createTlsMaterial();
  server = createServer({ cert: tls.certPem, key: tls.keyPem }, (socket) => {
    sockets.push(socket);
    let heard = '';
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      heard += bytes.toString('latin1');
      const head = heard.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/.exec(heard)?.[1]);
      if (heard.length < head + length) return;
      requests.push(heard);
      heard = '';
      void answer(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

beforeEach(() => {
  sockets = [];
  requests = [];
  answer = (socket) => socket.write(ACCEPTED);
});

afterAll(() => void server.close());

function aRegistration(changes: Partial<Registration> = {}): Registration {
  const { port } = server.address() as AddressInfo;
  return {
    registrationId: 'registration',
    name: 'hook',
    url: `https://127.0.0.1:${port}/hooks?a=b%20c`,
    active: true,
    eventTypes: [],
    tenants: 'all',
    headers: {},
    caPem: tls.caPem,
    createdAt: '2026-01-01T00:00:00.000Z',
    ...changes,
  };
}

/** Posts a body over one connection. */
function connect(changes: Partial<Registration> = {}): (body?: string) => Promise<PostResult> {
  const destination = destinationOf(aRegistration(changes));
  const connection = new PostConnection(destination, TIMEOUT_MS);
  return (body = '{}') =>
    new Promise((resolve) => connection.post(requestBytes(destination.head, body), resolve));
}

test('one connection is used again and again', async () => {
  const post = connect();
  for (let count = 0; count < 3; count += 1) expect(await post()).toEqual(accepted);
  expect(sockets).toHaveLength(1);
  expect(requests).toHaveLength(3);
});

test('a request is what other deliveries are, byte for byte', async () => {
  const body = '{"tenant":"Größe € 𝄞"}';
  const headers = { Authorization: 'Basic abc', 'X-Empty': '', 'User-Agent': 'mine', 'X-Latin': 'é\xff' };
  await connect({ headers })(body);
  const pool = new ReceiverPool(TIMEOUT_MS);
  const registration = aRegistration({ headers });
  await pool.post(registration, { body, cutOff: false, reset: false });
  await pool.close();
  expect(requests).toHaveLength(2);
  expect(requests[0]).toBe(requests[1]);
  expect(Buffer.from(requests[0] ?? '', 'latin1').toString()).toContain(body);
});

test('an answer that comes byte by byte is an answer', async () => {
  const post = connect();
  answer = async (socket) => {
    for (const byte of 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n')
      await new Promise((resolve) => socket.write(byte, resolve));
  };
  expect(await post()).toEqual(accepted);
  expect(await post()).toEqual(accepted);
  expect(sockets).toHaveLength(1);
});

test('any status but 2xx is an error', async () => {
  answer = (socket) => socket.write('HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n');
  expect(await connect()()).toEqual({ status: 302, error: 'The endpoint answered 302.', responseBody: '' });
});

test.each([
  ['says so', (socket: TLSSocket) => socket.write(ACCEPTED.replace('OK', 'OK\r\nConnection: close'))],
  [
    'announces it for now',
    (socket: TLSSocket) => socket.write(ACCEPTED.replace('OK', 'OK\r\nKeep-Alive: timeout=2')),
  ],
  ['ends the answer with it', (socket: TLSSocket) => socket.end('HTTP/1.1 200 OK\r\n\r\nok')],
  ['does it without a word', (socket: TLSSocket) => socket.end(ACCEPTED)],
  ['breaks it', (socket: TLSSocket) => socket.write(ACCEPTED, () => setTimeout(() => socket.destroy(), 5))],
  ['goes on after the answer', (socket: TLSSocket) => socket.write(`${ACCEPTED}HTTP/1.1 200 OK\r\n`)],
  [
    'speaks up when nothing was asked',
    (socket: TLSSocket) => socket.write(ACCEPTED, () => setTimeout(() => socket.write('!'), 5)),
  ],
])('a connection that the endpoint gives up is renewed: it %s', async (_, odd) => {
  const post = connect();
  answer = odd;
  expect(await post()).toEqual(accepted);
  await until(() => sockets[0]?.destroyed === true || sockets[0]?.readableEnded === true);
  // What has left one end is at the other, which reads it at its next look at the network.
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  answer = (socket) => socket.write(ACCEPTED);
  expect(await post()).toEqual(accepted);
  expect(sockets).toHaveLength(2);
});

test.each([
  ['nothing', (socket: TLSSocket) => socket.end(), /closed the connection/],
  ['a half answer', (socket: TLSSocket) => socket.end(ACCEPTED.slice(0, -1)), /closed the connection/],
  ['a reset', (socket: TLSSocket) => socket.destroy(new Error('gone')), /./],
  ['garbage', (socket: TLSSocket) => socket.write('220 mail.example.com ESMTP\r\n\r\n'), /not HTTP/],
  ['no answer', () => {}, /^No answer within 0.4 s\.$/],
  ['a drip without end', (socket: TLSSocket) => drip(socket), /^No answer within 0.4 s\.$/],
])('an exchange that ends with %s has failed, and the next one goes well', async (_, odd, error) => {
  const post = connect();
  answer = odd;
  const start = performance.now();
  expect(await post()).toEqual({ status: null, error: expect.stringMatching(error), responseBody: '' });
  // Ten times as long says that it ended by itself, and not how quick the machine was.
  expect(performance.now() - start).toBeLessThan(TIMEOUT_MS * 10);
  answer = (socket) => socket.write(ACCEPTED);
  expect(await post()).toEqual(accepted);
  expect(sockets).toHaveLength(2);
});

function drip(socket: TLSSocket): void {
  socket.write('HTTP/1.1 200 OK\r\n\r\n');
  const timer = setInterval(() => socket.write('x'), 20);
  socket.once('close', () => clearInterval(timer));
}

test('an endpoint that is not the one it should be hears nothing', async () => {
  const { caPem } = await createTlsMaterial();
  const { status, error } = await connect({ caPem })();
  expect([status, error]).toEqual([null, expect.stringContaining('verif')]);
  expect(requests).toEqual([]);
  expect(await connect({ caPem: null })()).toEqual(accepted);
});

test.each([
  ['a certificate authority that is none', { caPem: 'nonsense' }, /verif/],
  ['a port where nobody listens', { url: 'https://127.0.0.1:1/' }, /ECONNREFUSED/],
  ['a name that there is not', { url: 'https://nobody.invalid/' }, /ENOTFOUND|EAI_AGAIN/],
])('%s is an error each time', async (_, changes, error) => {
  const post = connect(changes);
  for (let count = 0; count < 2; count += 1) {
    expect(await post()).toMatchObject({ status: null, error: expect.stringMatching(error) });
  }
});

test('what is more than the connections take waits its turn', async () => {
  const destination = destinationOf(aRegistration());
  const line = new PostLine(destination, TIMEOUT_MS);
  const bodies = Array.from({ length: 100 }, (_, index) => `{"number":${index}}`);
  const results = await Promise.all(
    bodies.map(
      (body) =>
        new Promise<PostResult>((whenOver) => {
          line.send({ request: () => requestBytes(destination.head, body), whenOver });
        }),
    ),
  );
  expect(results).toEqual(bodies.map(() => accepted));
  expect(sockets).toHaveLength(CONNECTIONS);
  expect(new Set(requests.map((request) => request.slice(request.indexOf('{'))))).toEqual(new Set(bodies));
});
