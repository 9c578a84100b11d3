/**
 * The endpoint: HTTPS, credentials, limits, and one answer per delivery.
 *
 * It answers from disk alone. Neither Temporal nor the billing service is ever waited for, since the service gives
 * 30 seconds and one retry and cannot be asked again.
 */

import type { IncomingMessage } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { createSecureContext } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Settings } from '../config/settings.js';
import { messageOf, systemErrorIn } from '../config/system-error.js';
import { BillsyncError, EXIT } from '../contract/errors.js';
import type { DurablePoint } from '../inbox/durable-point.js';
import { systemCode } from '../ops/durable-files.js';
import { createFailedLogins, type FailedLoginsWords } from '../ops/failed-logins.js';
import { FsyncError } from '../ops/flush.js';
import type { Health } from '../ops/health.js';
import { hostOf, isOpen } from './authorize.js';
import { guardConnections } from './connection-guard.js';
import { createPathGuards, pathnameOf } from './endpoint-authentication.js';
import { answerBrokenRequest, createServer, LIMITS, type WebhookLimits } from './http-server.js';
import { readToItsEnd } from './read-to-its-end.js';
import { createReceiver, type ReceiveDeps } from './receive-delivery.js';
import { createSenderAddresses, type SenderAddresses } from './sender-address.js';
import {
  measureCertificate,
  prepareTlsFiles,
  readTlsFiles,
  reloadTlsFiles,
  type TlsFiles,
} from './tls-files.js';

export interface WebhookDeps extends Omit<ReceiveDeps, 'settings'> {
  readonly settings: Pick<Settings, 'webhook' | 'dataDir' | 'wirePrefix'>;
  readonly health?: Health;
  /** Called after the answer when the disk lied (FsyncError); the process ends by default. */
  readonly onFatal?: (error: FsyncError) => void;
  /** Lets an endpoint without credentials be reached from other machines. Anybody could then void an invoice. */
  readonly isOpenAllowed?: boolean;
  readonly limits?: Partial<WebhookLimits>;
  /** Called at D3 of the fault matrix (docs/faults.md). */
  readonly durablePoint?: DurablePoint;
}

export interface Webhook {
  readonly url: string;
  readonly port: number;
  /** Takes no more connections, finishes what it began. */
  close(): Promise<void>;
}

/** The settings cannot be served as they are, or the address cannot be had. */
export class WebhookStartError extends BillsyncError {
  readonly code = 'webhook-start';
  override readonly exitCode = EXIT.usage;
}

export class WebhookAddressError extends WebhookStartError {
  constructor(host: string, port: number, cause: unknown) {
    const reason = systemCode(cause) === 'EADDRINUSE' ? 'is taken' : `cannot be had (${systemCode(cause)})`;
    super(`The endpoint's address ${host}:${port} ${reason}; set BILLSYNC_WEBHOOK_PORT.`, { cause });
  }
}

/** The method is not in the specification (4.6), so all that carry a body are taken. */
const METHODS = ['POST', 'PUT', 'PATCH'] as const;

/**
 * Connections that the system may hold for us until they are taken. Beyond that a sender hears nothing and tries again
 * after a whole second; Node's 511 are full after a burst of strangers. The system may allow less.
 */
const BACKLOG = 4_096;

/** What a refused sender may still send before its connection is closed under it. */
const LINGER = { bytes: 4 * LIMITS.bodyBytes, ms: 5_000 };

export const WRONG_CREDENTIALS: FailedLoginsWords = {
  alertKey: 'webhook/wrong-credentials',
  title: 'Deliveries with wrong credentials were refused',
  detail:
    'If the billing service sends them, its events are being lost: compare the Authorization header of its webhook with BILLSYNC_WEBHOOK_BASIC_AUTH and BILLSYNC_WEBHOOK_HEADERS. Otherwise somebody is guessing.',
  logged: 'a delivery with wrong credentials was refused',
};

/** Opens the endpoint. @throws WebhookStartError the port is taken, or the certificate cannot be used */
export async function startWebhook(deps: WebhookDeps): Promise<Webhook> {
  const { webhook } = deps.settings;
  const limits = { ...LIMITS, ...webhook.connectionLimits, ...deps.limits };
  const senders = createSenderAddresses(webhook.trustedProxies ?? []);
  const tls = deps.settings.webhook.tls ? await prepareTlsFiles(deps.settings, deps.log) : null;
  const pair = tls === null ? null : await loadPair(tls);
  const app = fastify({
    serverFactory: (handler) => createServer(handler, pair, limits),
    bodyLimit: limits.bodyBytes,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (_error, _request, reply) => void answer(reply, 400, { status: 'rejected' }),
  });
  for (const name of ['deliveries_total', 'quarantined_total'] as const) deps.metrics.counter(name);
  deps.metrics.histogram('acknowledge_seconds');
  if (tls !== null) measureCertificate(tls, deps.metrics);
  const receiver = createReceiver(deps);
  const guard = guardConnections(app.server, {
    ...deps,
    senders,
    limits: { total: limits.connections, perAddress: limits.connectionsPerAddress },
    helloMs: pair === null ? null : limits.handshakeMs,
  });
  addPaths(app, deps, { senders, prove: guard.prove });
  addDeliveries(app, deps, receiver.receive);
  addHealth(app, deps);

  const host = listeningHost(deps);
  await listen(app, host, deps.settings.webhook.port);
  const { port } = app.server.address() as AddressInfo;
  const stopReload =
    tls !== null && app.server instanceof HttpsServer
      ? reloadTlsFiles(app.server, tls, deps.log)
      : () => undefined;
  return {
    url: `${tls === null ? 'http' : 'https'}://${nameOf(host)}:${port}${deps.settings.webhook.path}`,
    port,
    async close() {
      stopReload();
      await app.close();
      await receiver.settle();
    },
  };
}

/** Checks everything that needs no body, before a byte of it is read. */
function addPaths(
  app: FastifyInstance,
  deps: WebhookDeps,
  { senders, prove }: { readonly senders: SenderAddresses; readonly prove: (socket: Socket) => void },
): void {
  const { settings, metrics } = deps;
  const guardOf = createPathGuards(settings.webhook);
  const logins = createFailedLogins({ ...deps, words: WRONG_CREDENTIALS });
  app.addHook('onRequest', async (request, reply) => {
    // Sent behind a request that was refused: the answer would never be seen, so nothing is kept either.
    if (refusedOn.has(request.raw.socket)) return reply.hijack();
    const pathname = pathnameOf(request.raw.url);
    const guard = pathname === null ? null : guardOf(pathname);
    if (guard === null) {
      if (pathname !== '/healthz') return answer(reply, 404, { status: 'not found' });
      if (['GET', 'HEAD'].includes(request.method)) return;
      return answer(reply.header('allow', 'GET, HEAD'), 405, { status: 'method not allowed' });
    }
    if (!METHODS.some((method) => method === request.method)) {
      return answer(reply.header('allow', METHODS.join(', ')), 405, { status: 'method not allowed' });
    }
    if (!guard.authorize(request.headers)) {
      // Before the answer waits.
      refusedOn.add(request.raw.socket);
      metrics.counter('deliveries_total').inc({ status: 'unauthorized' });
      if (!(await logins.failed(senders.of(request.raw)))) {
        return answer(reply.header('retry-after', '60'), 429, { status: 'too many' });
      }
      return answer(reply.header('www-authenticate', 'Basic realm="billsync", charset="UTF-8"'), 401, {
        status: 'unauthorized',
      });
    }
    logins.succeeded(senders.of(request.raw));
    prove(request.raw.socket);
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
      return answer(reply, 415, { status: 'unsupported content encoding' });
    }
    // Any content type is taken whose body is JSON, also none and one that is no content type at all.
    request.raw.headers['content-type'] = 'application/octet-stream';
  });
}

function addDeliveries(
  app: FastifyInstance,
  deps: WebhookDeps,
  receive: ReturnType<typeof createReceiver>['receive'],
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const deliver = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { statusCode, status, eventId } = await receive(bodyOf(request));
    deps.metrics.counter('deliveries_total').inc({ status });
    deps.health?.set('inbox', { isHealthy: true });
    deps.alerts?.resolve('inbox/unwritable');
    reply.raw.once('finish', () => deps.durablePoint?.('D3'));
    return reply.code(statusCode).send(eventId === null ? { status } : { status, eventId });
  };
  // The hook has found the guard of the path already.
  app.route({ method: [...METHODS], url: '/*', handler: deliver });
  app.addHook('onResponse', async (request, reply) => {
    if (request.method !== 'GET')
      deps.metrics.histogram('acknowledge_seconds').observe(reply.elapsedTime / 1_000);
  });
  app.setErrorHandler((error, _request, reply) => answerFailure(error, reply, deps));
}

/** A request that cannot be kept is answered with 503, so that the service tries again. */
function answerFailure(error: unknown, reply: FastifyReply, deps: WebhookDeps): FastifyReply {
  const statusCode = statusOf(error);
  if (statusCode !== null && statusCode < 500) {
    deps.metrics.counter('deliveries_total').inc({ status: 'rejected' });
    return answer(reply, statusCode, { status: statusCode === 413 ? 'too large' : 'rejected' });
  }
  deps.metrics.counter('deliveries_total').inc({ status: 'unavailable' });
  deps.log.error({ err: error }, 'a delivery could not be kept');
  deps.health?.set('inbox', { isHealthy: false, detail: 'The inbox cannot be written.' });
  deps.alerts?.raise({
    key: 'inbox/unwritable',
    title: 'The inbox cannot be written; deliveries are answered with 503.',
    detail: `${systemCode(error) ?? 'The reason is in the log.'} Free some space on the disk of the data folder.`,
  });
  if (error instanceof FsyncError) reply.raw.once('close', () => endAfter(error, deps));
  return answer(reply.header('retry-after', '5'), 503, { status: 'unavailable' });
}

function endAfter(error: FsyncError, deps: WebhookDeps): void {
  if (deps.onFatal !== undefined) {
    deps.onFatal(error);
    return;
  }
  deps.log.fatal({ err: error }, 'the disk failed to store written data; ending, to start clean');
  process.exit(1);
}

/** `GET /healthz`: 200 while the next delivery could be kept. Strangers may ask, so the disk is asked once a second. */
function addHealth(app: FastifyInstance, { inbox, health, alerts }: WebhookDeps): void {
  let goodUntilMs = 0;
  let asking: Promise<void> | null = null;
  async function ask(): Promise<void> {
    await inbox.probe();
    goodUntilMs = performance.now() + 1_000;
    health?.set('inbox', { isHealthy: true });
    alerts?.resolve('inbox/unwritable');
  }
  app.get('/healthz', async (_request, reply) => {
    if (performance.now() < goodUntilMs) return reply.send({ status: 'ok' });
    asking ??= ask().finally(() => {
      asking = null;
    });
    try {
      await asking;
    } catch (error) {
      if (systemCode(error) === null) throw error;
      health?.set('inbox', { isHealthy: false, detail: 'The inbox cannot be written.' });
      return reply.code(503).send({ status: 'unavailable' });
    }
    return reply.send({ status: 'ok' });
  });
}

/** Connections that end with the answer that is under way. */
const refusedOn = new WeakSet<Socket>();

/**
 * Refuses: the answer at once, its end when the request has ended. Closing the connection keeps an unread body from being taken
 * for the next request.
 */
function answer(reply: FastifyReply, statusCode: number, body: { readonly status: string }): FastifyReply {
  const { raw } = reply.request;
  refusedOn.add(raw.socket);
  reply.code(statusCode).header('connection', 'close');
  if (raw.complete) return reply.send(body);
  const text = JSON.stringify(body);
  reply.type('application/json; charset=utf-8').header('content-length', Buffer.byteLength(text));
  return reply.send(Readable.from(untilRead(text, raw)));
}

async function* untilRead(text: string, request: IncomingMessage): AsyncGenerator<string> {
  yield text;
  await readToItsEnd(request, LINGER);
}

function bodyOf(request: FastifyRequest): Uint8Array {
  return request.body instanceof Uint8Array ? request.body : new Uint8Array();
}

function statusOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return null;
  return typeof error.statusCode === 'number' ? error.statusCode : null;
}

async function loadPair(tls: TlsFiles): Promise<{ cert: Buffer; key: Buffer }> {
  try {
    const pair = await readTlsFiles(tls);
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const found = systemErrorIn(error);
    if (found !== null) {
      const [what, setting] =
        found.path === tls.keyPath
          ? ['key', 'BILLSYNC_WEBHOOK_TLS_KEY']
          : ['certificate', 'BILLSYNC_WEBHOOK_TLS_CERT'];
      const message = `The ${what} of the endpoint (${setting}) cannot be read: ${messageOf(error)}.`;
      throw new WebhookStartError(message, { cause: error });
    }
    throw new WebhookStartError(
      `The certificate and key of the endpoint do not belong together, or are no PEM: ${tls.certPath}, ${tls.keyPath}. Correct BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY.`,
      { cause: error },
    );
  }
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port, backlog: BACKLOG });
  } catch (error) {
    throw new WebhookAddressError(host, port, error);
  }
}

/** Without credentials only this machine is listened to: a stranger could otherwise void invoices. */
function listeningHost({ settings, log, isOpenAllowed = false }: WebhookDeps): string {
  const { host, credentials } = settings.webhook;
  const own = hostOf(settings.webhook, isOpenAllowed);
  if (isOpen(credentials)) {
    const what =
      own === host
        ? 'asks for no credentials'
        : `has no credentials and therefore listens on ${own}, not on ${host}`;
    log.warn(`the endpoint ${what}; set BILLSYNC_WEBHOOK_BASIC_AUTH or BILLSYNC_WEBHOOK_HEADERS`);
  }
  return own;
}

function nameOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
