/** The bare server under the endpoint: limits against slow, large and broken senders, whom Node would wait minutes for. */

import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';

export interface WebhookLimits {
  readonly bodyBytes: number;
  readonly headerBytes: number;
  /** Until TLS is agreed on. */
  readonly handshakeMs: number;
  /** For headers and body together; 408 after it. */
  readonly requestMs: number;
  /** In all (BILLSYNC_WEBHOOK_CONNECTIONS). */
  readonly connections: number;
  /** Without credentials, from one address (BILLSYNC_WEBHOOK_CONNECTIONS_PER_ADDRESS). */
  readonly connectionsPerAddress: number;
}

/** The specification names no size (8); an envelope has about 2 KB. */
export const LIMITS: WebhookLimits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  handshakeMs: 5_000,
  requestMs: 15_000,
  connections: 1_024,
  connectionsPerAddress: 512,
};

/** Whoever is not rid of an answer by then does not read it. */
const LAST_WORD_MS = 1_000;
/** Nothing moved in either direction: a peer that sends requests and reads no answer is not waited for. */
const SILENCE_MS = 60_000;

/** @param pair null: plain HTTP, behind a proxy that ends TLS */
export function createServer(
  handler: RequestListener,
  pair: { cert: Buffer; key: Buffer } | null,
  limits: WebhookLimits,
): Server {
  const options = {
    maxHeaderSize: limits.headerBytes,
    requestTimeout: limits.requestMs,
    headersTimeout: limits.requestMs,
    keepAliveTimeout: 10_000,
    // Node looks for slow requests only every 30 s by default.
    connectionsCheckingInterval: Math.min(1_000, limits.requestMs),
  };
  const server =
    pair === null
      ? createHttpServer(options, handler)
      : createHttpsServer({ ...options, ...pair, handshakeTimeout: limits.handshakeMs }, handler);
  server.timeout = SILENCE_MS;
  // Node answers an Expect header that it does not know with 417, unseen by anybody.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  return server;
}

/**
 * Answers requests so broken that they never became one: too slow, too long a header, no HTTP at all. A connection
 * that did not even get that far (its TLS was never agreed on) has no words in common with us: it is destroyed, since
 * an answer to it would wait for ever to be sent.
 */
export function answerBrokenRequest(
  error: Error & { code?: string },
  socket: Socket,
  onAnswer: (statusCode: number) => void = () => undefined,
): void {
  const isHttp = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' || error.code?.startsWith('HPE_') === true;
  if (!isHttp || !socket.writable) {
    socket.destroy();
    return;
  }
  const reason =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? '408 Request Timeout'
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? '431 Request Header Fields Too Large'
        : '400 Bad Request';
  onAnswer(Number.parseInt(reason, 10));
  const body = JSON.stringify({ status: 'rejected' });
  socket.end(
    `HTTP/1.1 ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), LAST_WORD_MS).unref();
}
