/** A proxy between the suite and a correct service that changes answers, for faults that the sandbox does not have. */

import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { Agent, request } from 'undici';
import { createTlsMaterial } from '../../../sandbox/security/tls.ts';
import { listen } from '../../support/listen.ts';

export interface PassedAnswer {
  readonly status: number;
  readonly body: string;
}

/** Changes an answer, or leaves it by answering null. `call` is method and path, as `GET /a/b`. */
export type Lie = (call: string, answer: PassedAnswer) => PassedAnswer | null;

export async function startLyingProxy(target: { url: string; caPem: string }, lie: Lie) {
  const agent = new Agent({ connect: { ca: target.caPem } });
  const { caPem, certPem, keyPem } = await createTlsMaterial();
  const server = createServer({ cert: certPem, key: keyPem }, async (incoming, outgoing) => {
    const { status, headers, body } = await pass(incoming, target.url, agent);
    const call = `${incoming.method} ${incoming.url}`;
    const changed = lie(call, { status, body: body.toString('utf8') });
    const bytes = changed === null ? body : Buffer.from(changed.body);
    outgoing.writeHead(changed?.status ?? status, { ...headers, 'content-length': bytes.length }).end(bytes);
  });
  return {
    url: `https://127.0.0.1:${await listen(server)}`,
    caPem,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await agent.close();
    },
  };
}

async function pass(incoming: IncomingMessage, url: string, agent: Agent) {
  const body = await buffer(incoming);
  const { host: _, connection: __, 'transfer-encoding': ___, ...headers } = incoming.headers;
  const answer = await request(`${url}${incoming.url}`, {
    method: incoming.method ?? 'GET',
    headers,
    body: body.length === 0 ? null : body,
    dispatcher: agent,
  });
  const { 'content-length': ____, 'transfer-encoding': _____, connection: ______, ...kept } = answer.headers;
  return { status: answer.statusCode, headers: kept, body: Buffer.from(await answer.body.arrayBuffer()) };
}
