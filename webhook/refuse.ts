/** Answers that refuse a request, or tell that it could not be kept; each ends its connection. */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { FsyncError } from '../lib/files/durable-files.ts';
import type { Health } from '../lib/health/health.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { systemCode } from '../lib/system-errors.ts';
import { printable } from '../lib/wire/text.ts';
import { LIMITS } from './http-server.ts';
import { readToItsEnd } from './read-to-its-end.ts';

/** What a refused sender may still send before its connection is closed under it. */
const LINGER = { bytes: 4 * LIMITS.bodyBytes, ms: 5_000 };

/** Who is told that a delivery could not be kept. */
export interface FailureDeps {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly health?: Health;
  readonly alerts?: Alerts;
  /** Called after the answer when the disk lied (FsyncError); the process ends by default. */
  readonly onFatal?: (error: FsyncError) => void;
}

/** Connections that end with the answer that is under way. */
const refusedOn = new WeakSet<Socket>();

/**
 * The answer is sent at once, its end when the request has ended. Closing the connection keeps an unread body from being taken
 * for the next request.
 */
export function refuse(
  reply: FastifyReply,
  statusCode: number,
  body: { readonly status: string },
): FastifyReply {
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

/** Whether what comes on this connection stands behind a request that was refused: no answer to it would be seen. */
export function isRefused(socket: Socket): boolean {
  return refusedOn.has(socket);
}

/** The answer to this connection's request will refuse it, though it is not sent yet. */
export function refuseSoon(socket: Socket): void {
  refusedOn.add(socket);
}

/** Tells of a delivery with right credentials that was refused: the service gives up after two attempts. */
export function reportRefused(
  { method, url }: { readonly method: string | undefined; readonly url: string | undefined },
  statusCode: number,
  deps: FailureDeps,
): void {
  const path = printable((url ?? '').split('?', 1)[0] ?? '', 200);
  deps.metrics.counter('deliveries_total').inc({ status: 'rejected' });
  deps.log.warn({ statusCode, method, path }, 'a delivery with right credentials was refused');
  deps.alerts?.raise({
    key: 'webhook/refused',
    title: `A delivery with right credentials was refused with HTTP ${statusCode}`,
    detail: `${method ?? 'A request'} ${path}: ${REASONS[statusCode] ?? 'the request is broken'}. The service gives up after two attempts, so the event may be lost: correct the sender or the proxy before it, then \`billsync reconcile\`.`,
  });
}

const REASONS: Readonly<Record<number, string>> = {
  404: 'nothing is received at this path, see BILLSYNC_WEBHOOK_PATH',
  405: 'deliveries are sent with POST, PUT or PATCH',
  408: 'its body did not arrive in time',
  413: 'its body is too large',
  415: 'its body has a Content-Encoding',
};

/** A request that cannot be kept is answered with 503, so that the service tries again. */
export function answerFailure(error: unknown, reply: FastifyReply, deps: FailureDeps): FastifyReply {
  const statusCode = statusOf(error);
  if (statusCode !== null && statusCode < 500) {
    reportRefused(reply.request, statusCode, deps);
    return refuse(reply, statusCode, { status: statusCode === 413 ? 'too large' : 'rejected' });
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
  return refuse(reply.header('retry-after', '5'), 503, { status: 'unavailable' });
}

function endAfter(error: FsyncError, deps: FailureDeps): void {
  if (deps.onFatal !== undefined) {
    deps.onFatal(error);
    return;
  }
  deps.log.fatal({ err: error }, 'the disk failed to store written data; ending, to start clean');
  process.exit(1);
}

function statusOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return null;
  return typeof error.statusCode === 'number' ? error.statusCode : null;
}
