import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { FsyncError } from '../lib/files/durable-files.ts';
import type { Health } from '../lib/health/health.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { systemCode } from '../lib/system-errors.ts';
import { printable } from '../lib/text.ts';

const LINGER_MS = 5_000;
const LAST_ANSWER_MS = 1_000;

export interface FailureDeps {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly health?: Health;
  readonly alerts?: Alerts;
  /** Called after the answer when fsync failed; it must end the process. */
  readonly onFatal: (error: FsyncError) => void;
}

/** The answer to a request behind a refused one would never be read, so nothing is stored either. */
export const refusedOn = new WeakSet<Socket>();

/**
 * A socket that is closed while bytes are unread is reset, which can discard the answer, so the answer ends when the
 * request is read. Closing keeps the rest of a body from being taken for the next request.
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
  const signal = AbortSignal.timeout(LINGER_MS);
  await finished(request.resume(), { signal }).catch(() => undefined);
}

export function reportRefused(
  { method, url }: { readonly method: string | undefined; readonly url: string | undefined },
  statusCode: number,
  deps: FailureDeps,
): void {
  const path = printable((url ?? '').split('?', 1)[0] ?? '', 200);
  deps.metrics.counter('deliveries_total').inc({ status: 'rejected' });
  deps.log.warn({ statusCode, method, path }, 'a delivery with valid credentials was refused');
  deps.alerts?.raise({
    key: 'webhook/refused',
    title: `A delivery with valid credentials was refused with HTTP ${statusCode}`,
    detail: `${method ?? 'A request'} ${path}: ${REASONS[statusCode] ?? 'the request is malformed'}. The service gives up after two attempts, so the event may be lost: correct the sender or the proxy before it, then \`billsync reconcile\`.`,
  });
}

const REASONS: Readonly<Record<number, string>> = {
  404: 'nothing is received at this path, see BILLSYNC_WEBHOOK_PATH',
  405: 'deliveries are sent with POST, PUT or PATCH',
  408: 'its body did not arrive in time',
  413: 'its body is too large',
  415: 'its body has a Content-Encoding',
};

/** Answers 503 when the delivery could not be stored, so that the service tries again. */
export function answerFailure(error: unknown, reply: FastifyReply, deps: FailureDeps): FastifyReply {
  const statusCode = statusOf(error);
  if (statusCode !== null && statusCode < 500) {
    reportRefused(reply.request, statusCode, deps);
    return refuse(reply, statusCode, { status: statusCode === 413 ? 'too large' : 'rejected' });
  }
  deps.metrics.counter('deliveries_total').inc({ status: 'unavailable' });
  deps.log.error({ err: error }, 'a delivery could not be stored');
  deps.health?.set('inbox', { isHealthy: false, detail: 'The inbox cannot be written.' });
  deps.alerts?.raise({
    key: 'inbox/unwritable',
    title: 'The inbox cannot be written, so deliveries are answered with 503',
    detail: `${systemCode(error) ?? 'The reason is in the log.'} Free some space on the disk of the data folder.`,
  });
  if (error instanceof FsyncError) reply.raw.once('close', () => deps.onFatal(error));
  return refuse(reply.header('retry-after', '5'), 503, { status: 'unavailable' });
}

function statusOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return null;
  return typeof error.statusCode === 'number' ? error.statusCode : null;
}

/** A connection without HTTP (its TLS handshake failed) is destroyed: an answer would never be sent. */
export function answerMalformed(
  error: Error & { code?: string },
  socket: Socket,
  onAnswer: (statusCode: number) => void,
): void {
  const isTimeout = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!(isTimeout || error.code?.startsWith('HPE_') === true) || !socket.writable) {
    socket.destroy();
    return;
  }
  const statusCode = isTimeout ? 408 : error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
  onAnswer(statusCode);
  const body = JSON.stringify({ status: 'rejected' });
  socket.end(
    `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), LAST_ANSWER_MS).unref();
}
