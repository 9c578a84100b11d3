/**
 * The endpoint: HTTPS, credentials, limits, and one answer per delivery.
 *
 * It answers from disk alone. Neither Temporal nor the billing service is ever waited for, since the service gives
 * 30 seconds and one retry and cannot be asked again.
 */

import { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Settings } from '../lib/config/settings.ts';
import { createFailedLogins, type FailedLoginsWords } from '../lib/failed-logins.ts';
import { encodingsIn } from '../lib/wire/api.ts';
import { guardConnections } from './connection-guard.ts';
import { createPathGuards, type PathGuards, pathnameOf } from './endpoint-authentication.ts';
import { addHealth } from './endpoint-health.ts';
import { answerBrokenRequest, createServer, LIMITS, type WebhookLimits } from './http-server.ts';
import type { DurablePoint } from './inbox/durable-point.ts';
import { listen, listeningHost, loadPair, nameOf } from './listen.ts';
import { createReceiver, type ReceiveDeps } from './receive-delivery.ts';
import { answerFailure, type FailureDeps, isRefused, refuse, refuseSoon, reportRefused } from './refuse.ts';
import { createSenderAddresses, type SenderAddresses } from './sender-address.ts';
import { measureCertificate, prepareTlsFiles, reloadTlsFiles } from './tls-files.ts';

export interface WebhookDeps extends Omit<ReceiveDeps, 'settings'>, FailureDeps {
  readonly settings: Pick<Settings, 'webhook' | 'dataDir' | 'wirePrefix'>;
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

/** The method is not in the specification (4.6), so all that carry a body are taken. */
const METHODS = ['POST', 'PUT', 'PATCH'] as const;

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
  const guards = createPathGuards(webhook);
  const receiving = new WeakMap<Socket, FastifyRequest>();
  const app = fastify({
    serverFactory: (handler) => createServer(handler, pair, limits),
    bodyLimit: limits.bodyBytes,
    // A stranger gets no other answer for a doubled slash than for any other path.
    routerOptions: { ignoreDuplicateSlashes: true },
    clientErrorHandler(error, socket) {
      const request = receiving.get(socket);
      answerBrokenRequest(error, socket, (statusCode) => {
        if (request !== undefined) reportRefused(request, statusCode, deps);
      });
    },
    frameworkErrors(_error, request, reply) {
      if (guards.isKnown(request.headers)) reportRefused(request, 400, deps);
      void refuse(reply, 400, { status: 'rejected' });
    },
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
  addPaths(app, deps, { senders, prove: guard.prove, guards, receiving });
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
  {
    senders,
    prove,
    guards,
    receiving,
  }: {
    readonly senders: SenderAddresses;
    readonly prove: (socket: Socket) => void;
    readonly guards: PathGuards;
    /** By connection the delivery with right credentials that is not answered yet. */
    readonly receiving: WeakMap<Socket, FastifyRequest>;
  },
): void {
  const { metrics } = deps;
  const logins = createFailedLogins({ ...deps, words: WRONG_CREDENTIALS });
  app.addHook('onRequest', async (request, reply) => {
    // Sent behind a request that was refused: the answer would never be seen, so nothing is kept either.
    if (isRefused(request.raw.socket)) return reply.hijack();
    const pathname = pathnameOf(request.raw.url);
    const guard = pathname === null ? null : guards.of(pathname);
    if (guard === null) {
      if (pathname !== '/healthz') {
        if (guards.isKnown(request.headers)) reportRefused(request, 404, deps);
        return refuse(reply, 404, { status: 'not found' });
      }
      if (['GET', 'HEAD'].includes(request.method)) return;
      return refuse(reply.header('allow', 'GET, HEAD'), 405, { status: 'method not allowed' });
    }
    if (!METHODS.some((method) => method === request.method)) {
      if (guards.isKnown(request.headers)) reportRefused(request, 405, deps);
      return refuse(reply.header('allow', METHODS.join(', ')), 405, { status: 'method not allowed' });
    }
    if (!guard.authorize(request.headers)) {
      // Before the answer waits.
      refuseSoon(request.raw.socket);
      metrics.counter('deliveries_total').inc({ status: 'unauthorized' });
      if (!(await logins.failed(senders.of(request.raw)))) {
        return refuse(reply.header('retry-after', '60'), 429, { status: 'too many' });
      }
      return refuse(reply.header('www-authenticate', 'Basic realm="billsync", charset="UTF-8"'), 401, {
        status: 'unauthorized',
      });
    }
    logins.succeeded(senders.of(request.raw));
    prove(request.raw.socket);
    if (encodingsIn(request.headers['content-encoding']).length > 0) {
      reportRefused(request, 415, deps);
      return refuse(reply, 415, { status: 'unsupported content encoding' });
    }
    // Any content type is taken whose body is JSON, also none and one that is no content type at all.
    request.raw.headers['content-type'] = 'application/octet-stream';
    receiving.set(request.raw.socket, request);
  });
  app.addHook('onResponse', async (request) => void receiving.delete(request.raw.socket));
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

function bodyOf(request: FastifyRequest): Uint8Array {
  return request.body instanceof Uint8Array ? request.body : new Uint8Array();
}
