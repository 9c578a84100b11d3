/** The endpoint answers from disk alone, because the service waits 30 seconds and retries only once. */

import { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Settings } from '../lib/config/settings.ts';
import { BillsyncError, EXIT } from '../lib/errors.ts';
import { addressKey, createFailedLogins, type FailedLoginsMessages } from '../lib/failed-logins.ts';
import { systemCode, systemErrorIn } from '../lib/system-errors.ts';
import { encodingsIn } from '../lib/wire/api.ts';
import { createEndpointPaths, type EndpointPaths, hasNoCredentials, pathnameOf } from './authentication.ts';
import { measureCertificate, prepareCertificate, readCertificate, reloadCertificate } from './certificate.ts';
import {
  createProxyCheck,
  createServer,
  LIMITS,
  limitConnections,
  type WebhookLimits,
} from './connections.ts';
import type { DurablePoint } from './inbox/inbox.ts';
import { createReceiver, type ReceiveDeps, type Receiver } from './receive-delivery.ts';
import {
  answerFailure,
  answerMalformed,
  type FailureDeps,
  refuse,
  refusedOn,
  reportRefused,
} from './refuse.ts';

export interface WebhookDeps extends Omit<ReceiveDeps, 'settings'>, FailureDeps {
  readonly settings: Pick<Settings, 'webhook' | 'dataDir' | 'wirePrefix'>;
  readonly limits?: Partial<WebhookLimits>;
  readonly durablePoint?: DurablePoint;
}

export interface Webhook {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The specification (4.6) does not name the method, so all that carry a body are accepted. */
const METHODS = ['POST', 'PUT', 'PATCH'] as const;

/** Connections that the system queues for a busy process; Node's 511 are full after a burst, and a sender then waits a second. */
const BACKLOG = 4_096;
const HEALTHY_FOR_MS = 1_000;

export const WRONG_CREDENTIALS: FailedLoginsMessages = {
  alertKey: 'webhook/wrong-credentials',
  title: 'Deliveries with wrong credentials were refused',
  detail:
    'If the billing service sends them, its events are being lost: compare the Authorization header of its webhook with BILLSYNC_WEBHOOK_BASIC_AUTH and BILLSYNC_WEBHOOK_HEADERS. Otherwise someone is guessing.',
  log: 'a delivery with wrong credentials was refused',
};

export async function startWebhook(deps: WebhookDeps): Promise<Webhook> {
  const { webhook } = deps.settings;
  const limits = { ...LIMITS, ...webhook.connectionLimits, ...deps.limits };
  const isProxy = createProxyCheck(webhook.trustedProxies);
  const certificate = webhook.tls ? await prepareCertificate(deps.settings, deps.log) : null;
  const pair = certificate === null ? null : readCertificate(certificate);
  const paths = createEndpointPaths(webhook);
  const receiving = new WeakMap<Socket, FastifyRequest>();
  const app = fastify({
    serverFactory: (handler) => createServer(handler, pair, limits),
    bodyLimit: limits.bodyBytes,
    trustProxy: isProxy,
    // An address with a doubled slash is an unknown path like any other.
    routerOptions: { ignoreDuplicateSlashes: true },
    clientErrorHandler(error, socket) {
      const request = receiving.get(socket);
      answerMalformed(error, socket, (statusCode) => {
        if (request !== undefined) reportRefused(request, statusCode, deps);
      });
    },
    frameworkErrors(_error, request, reply) {
      if (paths.isKnown(request.headers)) reportRefused(request, 400, deps);
      void refuse(reply, 400, { status: 'rejected' });
    },
  });
  for (const name of ['deliveries_total', 'quarantined_total'] as const) deps.metrics.counter(name);
  deps.metrics.histogram('acknowledge_seconds');
  if (certificate !== null) measureCertificate(certificate, deps.metrics);
  const receiver = createReceiver(deps);
  const authenticated = limitConnections(app.server, { ...deps, limits, isProxy });
  checkRequests(app, deps, { paths, authenticated, receiving });
  registerDeliveryRoute(app, deps, receiver);
  registerHealthRoute(app, deps);

  const host = chooseHost(deps);
  await app.listen({ host, port: webhook.port, backlog: BACKLOG }).catch((error: unknown) => {
    throw addressError(host, webhook.port, error);
  });
  const { port } = app.server.address() as AddressInfo;
  const stopReload =
    certificate !== null && app.server instanceof HttpsServer
      ? reloadCertificate(app.server, certificate, deps.log)
      : () => undefined;
  return {
    url: `${certificate === null ? 'http' : 'https'}://${hostInUrl(host)}:${port}${webhook.path}`,
    port,
    async close() {
      stopReload();
      await app.close();
      await receiver.settle();
    },
  };
}

function checkRequests(
  app: FastifyInstance,
  deps: WebhookDeps,
  {
    paths,
    authenticated,
    receiving,
  }: {
    readonly paths: EndpointPaths;
    readonly authenticated: (socket: Socket) => void;
    readonly receiving: WeakMap<Socket, FastifyRequest>;
  },
): void {
  const logins = createFailedLogins({ ...deps, messages: WRONG_CREDENTIALS });
  app.addHook('onRequest', async (request, reply) => {
    const { socket } = request.raw;
    if (refusedOn.has(socket)) return reply.hijack();
    const pathname = pathnameOf(request.raw.url);
    const authorize = pathname === null ? null : paths.find(pathname);
    if (authorize === null) {
      if (pathname !== '/healthz') {
        if (paths.isKnown(request.headers)) reportRefused(request, 404, deps);
        return refuse(reply, 404, { status: 'not found' });
      }
      if (['GET', 'HEAD'].includes(request.method)) return;
      return refuse(reply.header('allow', 'GET, HEAD'), 405, { status: 'method not allowed' });
    }
    if (!METHODS.some((method) => method === request.method)) {
      if (paths.isKnown(request.headers)) reportRefused(request, 405, deps);
      return refuse(reply.header('allow', METHODS.join(', ')), 405, { status: 'method not allowed' });
    }
    const sender = addressKey(request.ip);
    const isOver = logins.isOver(sender);
    if (isOver || !authorize(request.headers)) {
      refusedOn.add(socket);
      deps.metrics.counter('deliveries_total').inc({ status: 'unauthorized' });
      if (isOver) return refuse(reply.header('retry-after', '60'), 429, { status: 'too many' });
      await logins.failed(sender);
      return refuse(reply.header('www-authenticate', 'Basic realm="billsync", charset="UTF-8"'), 401, {
        status: 'unauthorized',
      });
    }
    logins.succeeded(sender);
    authenticated(socket);
    if (encodingsIn(request.headers['content-encoding']).length > 0) {
      reportRefused(request, 415, deps);
      return refuse(reply, 415, { status: 'unsupported content encoding' });
    }
    // Any content type is accepted, also none or a malformed one: the body is JSON or it is refused.
    request.raw.headers['content-type'] = 'application/octet-stream';
    receiving.set(socket, request);
  });
  app.addHook('onResponse', async (request) => void receiving.delete(request.raw.socket));
}

function registerDeliveryRoute(app: FastifyInstance, deps: WebhookDeps, { receive }: Receiver): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const deliver = async ({ body }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { statusCode, status, eventId } = await receive(
      body instanceof Uint8Array ? body : new Uint8Array(),
    );
    deps.metrics.counter('deliveries_total').inc({ status });
    deps.health?.set('inbox', { isHealthy: true });
    deps.alerts?.resolve('inbox/unwritable');
    reply.raw.once('finish', () => deps.durablePoint?.('D3'));
    return reply.code(statusCode).send(eventId === null ? { status } : { status, eventId });
  };
  app.route({ method: [...METHODS], url: '/*', handler: deliver });
  app.addHook('onResponse', async (request, reply) => {
    if (request.method !== 'GET')
      deps.metrics.histogram('acknowledge_seconds').observe(reply.elapsedTime / 1_000);
  });
  app.setErrorHandler((error, _request, reply) => answerFailure(error, reply, deps));
}

function registerHealthRoute(app: FastifyInstance, { inbox, health, alerts }: WebhookDeps): void {
  let healthyUntilMs = 0;
  let probing: Promise<void> | null = null;
  async function probe(): Promise<void> {
    await inbox.probe();
    healthyUntilMs = performance.now() + HEALTHY_FOR_MS;
    health?.set('inbox', { isHealthy: true });
    alerts?.resolve('inbox/unwritable');
  }
  app.get('/healthz', async (_request, reply) => {
    if (performance.now() < healthyUntilMs) return reply.send({ status: 'ok' });
    probing ??= probe().finally(() => {
      probing = null;
    });
    try {
      await probing;
    } catch (error) {
      if (systemCode(error) === null) throw error;
      health?.set('inbox', { isHealthy: false, detail: 'The inbox cannot be written.' });
      return reply.code(503).send({ status: 'unavailable' });
    }
    return reply.send({ status: 'ok' });
  });
}

const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/** Anyone could void an invoice at an endpoint without credentials that other machines reach (ADR 8). */
function chooseHost({ settings, log }: WebhookDeps): string {
  const { host, credentials, open } = settings.webhook;
  if (!hasNoCredentials(credentials)) return host;
  const chosen = open || LOOPBACK.includes(host) ? host : '127.0.0.1';
  const effect =
    chosen === host
      ? 'requires no credentials'
      : `has no credentials and therefore listens on ${chosen}, not on ${host}`;
  log.warn(`the endpoint ${effect}; set BILLSYNC_WEBHOOK_BASIC_AUTH or BILLSYNC_WEBHOOK_HEADERS`);
  return chosen;
}

class EndpointAddressError extends BillsyncError {
  readonly code = 'webhook-start';
  override readonly exitCode = EXIT.usage;
}

function addressError(host: string, port: number, cause: unknown): EndpointAddressError {
  const code = systemCode(cause);
  const reason =
    code === 'EADDRINUSE'
      ? 'is taken; set BILLSYNC_WEBHOOK_PORT'
      : `cannot be used: ${systemErrorIn(cause)?.problem ?? code}; set BILLSYNC_WEBHOOK_HOST and BILLSYNC_WEBHOOK_PORT`;
  return new EndpointAddressError(`The endpoint's address ${host}:${port} ${reason}.`, { cause });
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
