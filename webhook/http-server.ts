/** The bare server under the endpoint: limits against slow, large and broken senders, whom Node would wait minutes for. */

import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';

export interface WebhookLimits {
  readonly bodyBytes: number;
  readonly headerBytes: number;
  /** For headers and body together; 408 after it. */
  readonly requestMs: number;
  readonly connections: number;
}

/** The specification names no size (8); an envelope has about 2 KB. */
export const LIMITS: WebhookLimits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  requestMs: 15_000,
  connections: 1_024,
};

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
      : createHttpsServer({ ...options, ...pair, handshakeTimeout: limits.requestMs }, handler);
  server.maxConnections = limits.connections;
  return server;
}

/** Answers requests so broken that they never became one: too slow, too long a header, no HTTP at all. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const reason =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? '408 Request Timeout'
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? '431 Request Header Fields Too Large'
        : '400 Bad Request';
  const body = JSON.stringify({ status: 'rejected' });
  socket.end(
    `HTTP/1.1 ${reason}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}
