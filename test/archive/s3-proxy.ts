/** A proxy in front of the S3 of the tests that refuses requests, breaks connections, loses answers, or changes a byte. */

import { createServer, type IncomingMessage, request as send } from 'node:http';
import { listen } from '../support/listen.ts';

/**
 * `break`: the connection is cut once the request has come; `lose`: once S3 has done it; `damage`: the last byte of the answer is
 * another.
 */
export type Fault = { readonly status: number; readonly code: string } | 'break' | 'lose' | 'damage';

export interface S3Proxy {
  readonly url: string;
  readonly requests: string[];
  /** Called for every request; null lets it pass. */
  fault: (request: IncomingMessage) => Fault | null;
  /** By how many milliseconds the server's clock goes wrong, as its answers show it. */
  skewMs: number;
  /** Waited for before a request is passed on. */
  hold: (request: IncomingMessage) => Promise<void> | null;
  stop(): Promise<void>;
}

export async function startS3Proxy(target: string): Promise<S3Proxy> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, answer) => {
    const { method = '', url = '', headers } = incoming;
    proxy.requests.push(`${method} ${new URL(url, target).search.replace(/uploadId=[^&]+/, 'uploadId')}`);
    const fault = proxy.fault(incoming);
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', async () => {
      await proxy.hold(incoming);
      if (fault === 'break') return incoming.socket.destroy();
      if (typeof fault === 'object' && fault !== null) {
        answer.writeHead(fault.status, { 'content-type': 'application/xml' });
        return answer.end(
          method === 'HEAD' ? '' : `<Error><Code>${fault.code}</Code><Message>no</Message></Error>`,
        );
      }
      const passed = send({ hostname, port, method, path: url, headers }, (from) => {
        const parts: Buffer[] = [];
        from.on('data', (part: Buffer) => parts.push(part));
        from.on('end', () => {
          if (fault === 'lose') return incoming.socket.destroy();
          const body = Buffer.concat(parts);
          const last = body.length - 1;
          if (fault === 'damage') body[last] = (body[last] ?? 0) ^ 1;
          const date = new Date(Date.parse(from.headers.date ?? '') + proxy.skewMs).toUTCString();
          answer.writeHead(from.statusCode ?? 500, { ...from.headers, date });
          answer.end(body);
        });
      });
      return passed.end(Buffer.concat(chunks));
    });
  });
  const proxy: S3Proxy = {
    url: '',
    requests: [],
    fault: () => null,
    skewMs: 0,
    hold: () => null,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return Object.assign(proxy, { url: `http://127.0.0.1:${await listen(server)}` });
}
