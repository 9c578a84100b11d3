/** HTTP and TLS of the foreign service: certificates of a private CA, answers, and the sending of an event. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Agent, type Server, request as sendRequest } from 'node:https';
import { generate } from 'selfsigned';

export interface ForeignEndpoint {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** null or left out: any certificate will do, as the receiver made its own. */
  readonly caPem?: string;
  /** Deliveries go over connections that stay open; left out: each has one of its own. The specification says neither. */
  readonly keepsConnections?: boolean;
}

export function json(response: ServerResponse, status: number, body: object) {
  text(response, status, 'application/json', JSON.stringify(body));
}

export function text(response: ServerResponse, status: number, type: string, body: string) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** @param agent false: a connection of its own @returns the status, 0 without an answer */
export function post(
  { url, headers, caPem }: ForeignEndpoint,
  body: string,
  agent: Agent | false,
): Promise<number> {
  const trust = caPem === undefined ? { rejectUnauthorized: false } : { ca: caPem };
  const all = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  return new Promise((resolve) => {
    const request = sendRequest(
      url,
      { method: 'POST', headers: all, timeout: 30_000, agent, ...trust },
      (response) => {
        response.resume().once('close', () => resolve(response.statusCode ?? 0));
      },
    );
    request.on('timeout', () => request.destroy()).on('error', () => resolve(0));
    request.end(body);
  });
}

export function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

export async function makeCertificates() {
  const ca = await generate([{ name: 'commonName', value: 'A Private CA' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const leaf = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 2, value: 'billing.invalid' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { caPem: ca.cert, certPem: leaf.cert, keyPem: leaf.private };
}
