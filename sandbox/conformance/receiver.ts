import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTlsMaterial } from '../security/tls.ts';
import { isObject, jsonObject, textOf } from './http.ts';

export interface ReceivedRequest {
  /** Milliseconds since the suite started. */
  readonly atMs: number;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly eventId: string;
  readonly eventType: string;
  /** The invoice that the payload names; null when it names none. */
  readonly invoiceId: string | null;
}

export interface Reply {
  /** The status of the answer; with `hang`, the receiver never answers. */
  readonly status: number | 'hang';
  readonly body?: string;
  readonly afterMs?: number;
}

/** @param attempt deliveries of one event are counted from 1 */
export type Choose = (received: ReceivedRequest, attempt: number) => Reply;

const POLL_MS = 20;

export class Receiver {
  readonly #server: Server;
  readonly #received = new Map<string, ReceivedRequest[]>();
  readonly #replies = new Map<string, Choose>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Receiver> {
    const { certPem: cert, keyPem: key } = await createTlsMaterial();
    const server = createServer({ cert, key });
    const receiver = new Receiver(server);
    server.on('request', (request, response) => void receiver.#receive(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  at(path: string, reply: Choose = () => ({ status: 200 })): string {
    this.#replies.set(path, reply);
    const { port } = this.#server.address() as AddressInfo;
    return `https://127.0.0.1:${port}/${path}`;
  }

  received(path: string): readonly ReceivedRequest[] {
    return this.#received.get(path) ?? [];
  }

  /** When the time is over, resolves with what was received, however little. */
  async wait(path: string, isEnough: (received: readonly ReceivedRequest[]) => boolean, withinMs: number) {
    const deadline = performance.now() + withinMs;
    while (!isEnough(this.received(path)) && performance.now() < deadline) await sleep(POLL_MS);
    return this.received(path);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const atMs = performance.now();
    const path = (request.url ?? '/').slice(1);
    const body = await buffer(request).catch(() => null);
    if (body === null) return;
    const received = receivedRequest(atMs, request, body);
    const all = this.#received.get(path) ?? [];
    this.#received.set(path, [...all, received]);
    const attempt = all.filter(({ eventId }) => eventId === received.eventId).length + 1;
    const reply = this.#replies.get(path)?.(received, attempt) ?? { status: 404 };
    const { status, body: text = '', afterMs = 0 } = reply;
    if (status === 'hang') return;
    if (afterMs > 0) await sleep(afterMs);
    response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
  }
}

function receivedRequest(atMs: number, request: IncomingMessage, body: Buffer): ReceivedRequest {
  const envelope = jsonObject(body) ?? {};
  const metadata = isObject(envelope.metadata) ? envelope.metadata : {};
  const payload = isObject(envelope.payload) ? envelope.payload : {};
  return {
    atMs,
    method: request.method ?? '',
    headers: request.headers,
    body,
    metadata,
    payload,
    eventId: textOf(metadata.eventId) ?? '',
    eventType: textOf(metadata.eventType) ?? '',
    invoiceId: invoiceIdOf(payload),
  };
}

/**
 * The value of the payload's `…InvoiceId` field (spec 2.6), or null without one. `partnerInvoiceId` is the partner's own number and
 * is ignored.
 */
export function invoiceIdOf(payload: Readonly<Record<string, unknown>>): string | null {
  const name = Object.keys(payload).find((key) => /InvoiceId$/.test(key) && key !== 'partnerInvoiceId');
  return name === undefined ? null : textOf(payload[name]);
}
