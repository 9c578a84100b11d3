import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import type { Settings } from '../../lib/config/settings.ts';
import { FsyncError } from '../../lib/files/durable-files.ts';
import { startWebhook, type Webhook, type WebhookDeps } from '../../webhook/server.ts';
import { speak } from '../security/hostile/raw-http.ts';
import { eventually } from '../support/eventually.ts';
import { makeCertificates } from '../support/foreign-billing.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { aDelivery, basic, deliver, insecure, openParts, type Parts } from './a-delivery.ts';

const open: Webhook[] = [];

afterEach(() => Promise.all(open.splice(0).map((webhook) => webhook.close())));

async function start(
  webhook: Partial<Settings['webhook']> = {},
  over: Partial<WebhookDeps> = {},
): Promise<Parts & { url: string; port: number }> {
  const parts = await openParts(webhook);
  const started = await startWebhook({ ...parts, ...over });
  open.push(started);
  return { ...parts, url: started.url, port: started.port };
}

describe('a delivery with valid credentials', () => {
  const withAlerts = async (over: Partial<WebhookDeps> = {}) => {
    const { alerts, raised } = memoryAlerts();
    return { ...(await start({}, { alerts, ...over })), raised };
  };
  const statusOf = async (
    { url, port }: { readonly url: string; readonly port: number },
    { path, ...options }: { readonly path: string } & Partial<Parameters<typeof request>[1]>,
  ) => {
    const headers = { authorization: basic(), ...(options.headers as Record<string, string> | undefined) };
    const { protocol } = new URL(url);
    const answer = await request(
      { protocol, hostname: '127.0.0.1', port, path } as never,
      { method: 'POST', body: aDelivery().body, dispatcher: insecure, ...options, headers } as never,
    );
    await answer.body.dump();
    return answer.statusCode;
  };

  test('is accepted at a path with doubled slashes', async () => {
    const endpoint = await withAlerts();
    for (const path of ['//webhooks/billing', '/webhooks//billing/', '///webhooks/billing//tenant?a=//b']) {
      expect([path, await statusOf(endpoint, { path })]).toEqual([path, 200]);
    }
    expect(endpoint.raised).toEqual([]);
  });

  test.each<[number, { readonly path?: string; readonly [option: string]: unknown }]>([
    [404, { path: '/webhooks/billings' }],
    [404, { path: '/Webhooks/Billing' }],
    [400, { path: '/webhooks/billing%zz' }],
    [405, { method: 'DELETE' }],
    [415, { headers: { 'content-encoding': 'gzip' } }],
    [413, { body: Buffer.alloc(2 * 1024 * 1024) }],
  ])('is logged, counted and reported when it is refused with %i', async (status, options) => {
    const endpoint = await withAlerts();
    expect(await statusOf(endpoint, { path: '/webhooks/billing', ...options })).toBe(status);
    const title = `A delivery with valid credentials was refused with HTTP ${status}`;
    expect(endpoint.raised).toMatchObject([{ key: 'webhook/refused', title }]);
    expect(endpoint.logged.join('')).toContain('a delivery with valid credentials was refused');
    expect(await endpoint.metrics.text()).toContain('deliveries_total{status="rejected",role="webhook"} 1');
  });

  test('is not reported for a sender without credentials', async () => {
    const endpoint = await withAlerts();
    const authorization = basic('hook', 'guess');
    for (const options of [
      { path: '/elsewhere', headers: { authorization } },
      { path: '/webhooks/billing', method: 'DELETE', headers: { authorization } },
    ] as const) {
      expect(await statusOf(endpoint, options)).toBeGreaterThanOrEqual(400);
    }
    expect(endpoint.raised.filter(({ key }) => key === 'webhook/refused')).toEqual([]);
  });
});

describe('answers', () => {
  test('accepts a delivery after it is on disk, and answers duplicate afterwards', async () => {
    const { url, inbox, archive } = await start();
    const { eventId, body } = aDelivery();
    expect(await deliver(url, body)).toMatchObject({
      statusCode: 200,
      body: { status: 'accepted', eventId },
    });
    expect(await inbox.has({ kind: 'event', eventId })).toBe('pending');
    expect(await deliver(url, body)).toMatchObject({
      statusCode: 200,
      body: { status: 'duplicate', eventId },
    });
    await eventually(async () => {
      const facts = await Array.fromAsync(archive.facts());
      return facts.some((fact) => fact.kind === 'duplicate' && fact.eventId === eventId);
    });
  });

  test('accepts exactly one of 40 concurrent deliveries of one event', async () => {
    const { url } = await start();
    const { body } = aDelivery();
    const replies = await Promise.all(Array.from({ length: 40 }, () => deliver(url, body)));
    const statuses = replies.map((reply) => reply.body.status);
    expect(statuses.filter((status) => status === 'accepted')).toHaveLength(1);
    expect(statuses.filter((status) => status === 'duplicate')).toHaveLength(39);
  });

  test.each([
    ['no JSON', '{"metadata":'],
    ['nothing', ''],
    ['no envelope', '[1]'],
    ['a payload without its invoice', aDelivery({ payload: { serviceInvoiceId: undefined } }).body],
  ])('refuses %s with 400 without a reason, and keeps it', async (_name, body) => {
    const { url, quarantine } = await start();
    const reply = await deliver(url, body);
    expect(reply).toMatchObject({ statusCode: 400, body: { status: 'rejected' } });
    expect(Object.keys(reply.body)).toEqual(['status']);
    expect(await quarantine.list()).toHaveLength(1);
  });

  test.each(['POST', 'PUT', 'PATCH'])(
    'accepts %s with any content type whose body is JSON',
    async (method) => {
      const { url } = await start();
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'garbage;;',
        'application/json; charset=x',
      ]) {
        const reply = await deliver(url, aDelivery().body, { method, headers: { 'content-type': type } });
        expect(reply.body.status).toBe('accepted');
      }
    },
  );

  test('answers another method with the allowed ones', async () => {
    const { url } = await start();
    const reply = await deliver(url, null, { method: 'DELETE' });
    expect(reply).toMatchObject({ statusCode: 405, headers: { allow: 'POST, PUT, PATCH' } });
  });

  test.each(['identity', '', 'utf-8', 'UTF8', 'none', 'identity, identity'])(
    'accepts the Content-Encoding %j, which names none',
    async (encoding) => {
      const { url } = await start();
      const headers = { 'content-encoding': encoding };
      expect((await deliver(url, aDelivery().body, { headers })).body.status).toBe('accepted');
    },
  );
});

describe('credentials', () => {
  test('are checked before the body is read, with a challenge', async () => {
    const { url, quarantine } = await start();
    for (const authorization of [
      '',
      'Basic',
      'Bearer x',
      basic('hook', 'wrong'),
      basic('x'),
      `${basic()}AA`,
    ]) {
      const reply = await deliver(url, 'no json', { headers: { authorization } });
      expect(reply).toMatchObject({ statusCode: 401, body: { status: 'unauthorized' } });
      expect(reply.headers['www-authenticate']).toContain('Basic realm=');
    }
    expect(await quarantine.list()).toEqual([]);
  });

  test('accept two passwords during a rotation and require every header', async () => {
    const { url } = await start({
      credentials: {
        basicAuth: [
          { user: 'a', password: 'old' },
          { user: 'a', password: 'new' },
        ],
        headers: [
          { name: 'X-One', value: '1' },
          { name: 'X-Two', value: 'zw\u00f6lf' },
        ],
      },
    });
    const headers = { 'x-one': '1', 'x-two': Buffer.from('zw\u00f6lf').toString('latin1') };
    const send = (over: Record<string, string>): Promise<{ statusCode: number }> =>
      deliver(url, aDelivery().body, { headers: { ...headers, ...over } });
    expect((await send({ authorization: basic('a', 'old') })).statusCode).toBe(200);
    expect((await send({ authorization: basic('a', 'new') })).statusCode).toBe(200);
    expect((await send({ authorization: basic('a', 'old'), 'x-two': 'zwei' })).statusCode).toBe(401);
    expect((await send({ authorization: basic('a', 'other') })).statusCode).toBe(401);
  });

  test('are separate for a further path', async () => {
    const own = { basicAuth: [{ user: 'acme', password: 'own' }], headers: [] };
    const { url } = await start({ paths: [{ path: '/webhooks/billing/acme', credentials: own }] });
    const send = (path: string, authorization: string): Promise<{ statusCode: number }> =>
      deliver(url + path, aDelivery().body, { headers: { authorization } });
    expect((await send('/acme', basic('acme', 'own'))).statusCode).toBe(200);
    expect((await send('/acme/finalized', basic('acme', 'own'))).statusCode).toBe(200);
    expect((await send('/%61cme', basic())).statusCode).toBe(401);
    expect((await send('/acme', basic())).statusCode).toBe(401);
    expect((await send('', basic('acme', 'own'))).statusCode).toBe(401);
    expect((await send('/other', basic())).statusCode).toBe(200);
  });

  test('are required to listen on other than loopback, unless allowed', async () => {
    const none = { host: '0.0.0.0', credentials: { basicAuth: [], headers: [] } };
    const closed = await start(none);
    expect(new URL(closed.url).hostname).toBe('127.0.0.1');
    expect(closed.logged.join('')).toContain('listens on 127.0.0.1, not on 0.0.0.0');
    expect((await deliver(closed.url, aDelivery().body)).statusCode).toBe(200);
    const allowed = await start({ ...none, open: true });
    expect(new URL(allowed.url).hostname).toBe('localhost');
  });
});

describe('limits', () => {
  test('refuse a chunked body over the limit with 413', async () => {
    const { port } = await start({}, { limits: { bodyBytes: 1_000 } });
    const reply = await speak({ port, isTls: true }, [
      `POST /webhooks/billing HTTP/1.1\r\nhost: x\r\nauthorization: ${basic()}\r\ntransfer-encoding: chunked\r\n\r\n`,
      `7d0\r\n${'x'.repeat(2_000)}\r\n0\r\n\r\n`,
    ]);
    expect(reply).toMatch(/^HTTP\/1.1 413/);
  });

  test.each([
    ['too long a body', 'webhooks/billing', basic(), 413],
    ['wrong credentials', 'webhooks/billing', basic('a', 'wrong'), 401],
    ['another path', 'elsewhere', basic(), 404],
  ])('let a sender read the refusal while it still sends (%s)', async (_, path, authorization, status) => {
    const { port } = await start({ tls: false });
    const body = 'x'.repeat(1_500_000);
    const head = `POST /${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-length: ${body.length}\r\n\r\n`;
    const { reply, error } = await sendsOn(port, head, body);
    expect({ error, reply: reply.slice(0, 12) }).toEqual({ error: null, reply: `HTTP/1.1 ${status}` });
    expect(reply.toLowerCase()).toContain('connection: close');
  });

  test('ignore a body that ends early', async () => {
    const { port, inbox } = await start();
    const { body } = aDelivery();
    const head = `POST /webhooks/billing HTTP/1.1\r\nhost: x\r\nauthorization: ${basic()}\r\ncontent-length: ${body.length + 1}\r\n\r\n`;
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      socket.write(head + body);
      setTimeout(() => socket.destroy(), 100);
    });
    await once(socket, 'close');
    expect(await inbox.pending()).toEqual([]);
  });
});

describe('a disk that cannot be written', () => {
  test('is answered with 503 and reported in /healthz until it works again', async () => {
    const { url, settings, health } = await start();
    const inbox = join(settings.dataDir, 'inbox');
    // A file where the folder was: not even root can write there.
    await rename(join(inbox, 'tmp'), join(inbox, 'away'));
    await writeFile(join(inbox, 'tmp'), '');
    const { body } = aDelivery();
    const reply = await deliver(url, body);
    expect(reply).toMatchObject({ statusCode: 503, body: { status: 'unavailable' } });
    expect(reply.headers['retry-after']).toBe('5');
    const healthz = new URL('/healthz', url).href;
    expect((await deliver(healthz, null, { method: 'GET' })).statusCode).toBe(503);
    expect(health.report()).toMatchObject({ isReady: false, components: { inbox: { isHealthy: false } } });
    await rename(join(inbox, 'tmp'), join(inbox, 'file'));
    await rename(join(inbox, 'away'), join(inbox, 'tmp'));
    expect((await deliver(url, body)).body.status).toBe('accepted');
    expect((await deliver(healthz, null, { method: 'GET' })).statusCode).toBe(200);
    expect(health.report().isReady).toBe(true);
  });
});

test('answers 503 once and ends the process after a failed flush', async () => {
  const parts = await openParts();
  const lie = new FsyncError('/data/inbox', new Error('EIO'));
  const inbox = { ...parts.inbox, accept: () => Promise.reject(lie) };
  const fatal: unknown[] = [];
  const webhook = await startWebhook({ ...parts, inbox, onFatal: (error) => fatal.push(error) });
  open.push(webhook);
  expect((await deliver(webhook.url, aDelivery().body)).statusCode).toBe(503);
  await eventually(() => fatal.length > 0);
  expect(fatal).toEqual([lie]);
});

describe('TLS', () => {
  test('creates a self-signed certificate once, privately, with a warning', async () => {
    const { settings, port, logged } = await start();
    const keys = join(settings.dataDir, 'keys');
    expect((await readdir(keys)).sort()).toEqual(['webhook-cert.pem', 'webhook-key.pem']);
    const cert = await readFile(join(keys, 'webhook-cert.pem'), 'utf8');
    expect(logged.join('')).toContain('self-signed');
    await connects(port, cert);
    open.push(await startWebhook({ ...(await openParts()), settings }));
    expect(await readFile(join(keys, 'webhook-cert.pem'), 'utf8')).toBe(cert);
  });

  test('reloads a changed certificate, and not half of a pair', async () => {
    const [first, second] = [await makeCertificates(), await makeCertificates()];
    const parts = await openParts();
    const folder = join(parts.settings.dataDir, 'tls');
    await mkdir(folder);
    const [tlsCert, tlsKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    await writeFile(tlsCert, first.certPem);
    await writeFile(tlsKey, first.keyPem);
    await chmod(tlsKey, 0o600);
    const settings = { ...parts.settings, webhook: { ...parts.settings.webhook, tlsCert, tlsKey } };
    const webhook = await startWebhook({ ...parts, settings });
    open.push(webhook);
    await connects(webhook.port, first.caPem);
    await writeFile(tlsCert, second.certPem);
    await eventually(() => parts.logged.join('').includes('the old one stays'));
    await connects(webhook.port, first.caPem);
    await writeFile(tlsKey, second.keyPem);
    await eventually(() => parts.logged.join('').includes('was reloaded'));
    await connects(webhook.port, second.caPem);
    // Missing for several checks, back, and missing again: logged twice.
    const loggedBefore = parts.logged.length;
    const warnings = () =>
      parts.logged.slice(loggedBefore).filter((line) => line.includes('the old one stays')).length;
    await rename(tlsKey, `${tlsKey}.away`);
    await eventually(() => warnings() > 0);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(warnings()).toBe(1);
    await connects(webhook.port, second.caPem);
    await writeFile(tlsCert, first.certPem);
    await writeFile(tlsKey, first.keyPem);
    await eventually(() => parts.logged.join('').split('was reloaded').length - 1 === 2);
    await rename(tlsKey, `${tlsKey}.away`);
    await eventually(() => warnings() === 2);
  });

  test('serves plain HTTP behind a proxy, and reports a missing certificate', async () => {
    const { url } = await start({ tls: false });
    expect(url).toMatch(/^http:/);
    expect((await deliver(url, aDelivery().body)).statusCode).toBe(200);
    await expect(start({ tlsCert: '/nowhere/cert.pem', tlsKey: '/nowhere/key.pem' })).rejects.toThrow(
      'cannot be read: /nowhere/cert.pem',
    );
  });
});

function connects(port: number, ca: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ca, servername: 'localhost' }, () => {
      socket.destroy();
      resolve();
    }).on('error', reject);
  });
}

/** A sender that reads its answer only after its whole body, sent while the endpoint may have closed already. */
function sendsOn(port: number, head: string, body: string): Promise<{ reply: string; error: string | null }> {
  return new Promise((resolve) => {
    const socket = connectTcp(port, '127.0.0.1');
    let reply = '';
    let error: string | null = null;
    socket.setEncoding('utf8').once('connect', () => socket.write(head + body.slice(0, 1_000)));
    socket.once('data', () => socket.end(body.slice(1_000)));
    socket.on('data', (text: string) => {
      reply += text;
    });
    socket.on('error', (failure: NodeJS.ErrnoException) => {
      error = failure.code ?? failure.message;
    });
    socket.once('close', () => resolve({ reply, error }));
  });
}
