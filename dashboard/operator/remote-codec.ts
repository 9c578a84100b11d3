/**
 * Decrypts payloads for Temporal's own pages and command. They contain presigned URLs, so only operators get
 * them, and of other sites only the one that `BILLSYNC_TEMPORAL_UI` names.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../../lib/config/settings.ts';
import { CODEC_PATH, operatorOf } from '../admin-guard.ts';
import { isOwnForm, refusePassword } from './operator-guard.ts';

/** Returns null for an invalid message. @throws BillsyncError there is no key */
export type DecodePayloads = (message: unknown) => Promise<object | null>;

const MAX_BYTES = 16 * 1024 * 1024;

/** Runs before the guard, since browsers send preflights without a password. */
export function answerPreflights(app: FastifyInstance, admin: Settings['admin']): void {
  app.addHook('onRequest', async (request, reply) => {
    // The query is ignored, because Temporal's pages add parameters of their own.
    if (request.method !== 'OPTIONS' || request.url.split('?')[0] !== CODEC_PATH) return undefined;
    if (!allowReading(request, reply, admin)) return undefined;
    return reply
      .header('access-control-allow-methods', 'POST')
      .header('access-control-allow-headers', 'authorization, content-type, x-namespace')
      .code(204)
      .send();
  });
}

/** Temporal's remote codec: `{"payloads": […]}` in, the same decrypted out. */
export function registerRemoteCodec(
  app: FastifyInstance,
  { admin, decode }: { readonly admin: Settings['admin']; readonly decode: DecodePayloads },
): void {
  app.post(CODEC_PATH, { bodyLimit: MAX_BYTES }, async (request, reply) => {
    if (operatorOf(request.headers.authorization, admin) === null) return refusePassword(reply);
    if (!allowReading(request, reply, admin) && !isOwnForm(request))
      return reply.code(403).type('text/plain').send('A page of another site sent this.\n');
    const decoded = await decode(request.body);
    if (decoded !== null) return reply.send(decoded);
    return reply.code(400).type('text/plain').send('The body is no JSON message of payloads.\n');
  });
}

function allowReading(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { temporalUi }: Settings['admin'],
): boolean {
  const { origin } = headers;
  if (origin === undefined || temporalUi === null || new URL(temporalUi).origin !== origin) return false;
  reply.header('access-control-allow-origin', origin).header('access-control-allow-credentials', 'true');
  reply.header('vary', 'origin');
  return true;
}
