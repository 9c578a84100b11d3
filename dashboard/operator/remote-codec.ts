/**
 * What workflows were told, in clear, for Temporal's own pages and its command. Among it are presigned URLs, so only operators get
 * it; of other sites only the pages that `BILLSYNC_TEMPORAL_UI` names may read it.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../../lib/config/settings.ts';
import { operatorOf } from '../admin-guard.ts';
import { isOfOurs } from './operator-guard.ts';

/** @returns null when the message is none. @throws BillsyncError there is no key */
export type DecodePayloads = (message: unknown) => Promise<object | null>;

/** Temporal's pages and command add the last word to the address that they are told. */
const PATH = '/operator/codec/decode';
/** A page of a long history. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Before the guard: a browser asks without a password whether it may ask with one. */
export function answerPreflights(app: FastifyInstance, admin: Settings['admin']): void {
  app.addHook('onRequest', async (request, reply) => {
    // Temporal's pages add parameters of their own.
    if (request.method !== 'OPTIONS' || request.url.split('?')[0] !== PATH) return undefined;
    if (!allowReading(request, reply, admin)) return undefined;
    return reply
      .header('access-control-allow-methods', 'POST')
      .header('access-control-allow-headers', 'authorization, content-type, x-namespace')
      .code(204)
      .send();
  });
}

/** `POST /operator/codec/decode`: `{"payloads": […]}` in, the same in clear out (Temporal's remote codec). */
export function registerRemoteCodec(
  app: FastifyInstance,
  { admin, decode }: { readonly admin: Settings['admin']; readonly decode: DecodePayloads },
): void {
  app.post(PATH, { bodyLimit: MAX_BYTES }, async (request, reply) => {
    if (operatorOf(request.headers.authorization, admin) === null)
      return reply
        .code(401)
        .header('www-authenticate', 'Basic realm="billsync operator", charset="UTF-8"')
        .type('text/plain')
        .send('A user and a password of an operator are needed (BILLSYNC_OPERATOR_BASIC_AUTH).\n');
    if (!allowReading(request, reply, admin) && !isOfOurs(request))
      return reply.code(403).type('text/plain').send('This was asked by a page of another site.\n');
    const decoded = await decode(request.body);
    if (decoded !== null) return reply.send(decoded);
    return reply.code(400).type('text/plain').send('This is no message of payloads in JSON.\n');
  });
}

/** @returns whether a page of Temporal's asks; it may then read the answer */
function allowReading(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { temporalUi }: Settings['admin'],
): boolean {
  const { origin } = headers;
  if (origin === undefined || temporalUi == null || new URL(temporalUi).origin !== origin) return false;
  reply.header('access-control-allow-origin', origin).header('access-control-allow-credentials', 'true');
  reply.header('vary', 'origin');
  return true;
}
