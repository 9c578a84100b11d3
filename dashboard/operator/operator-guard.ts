import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../../lib/config/settings.ts';
import { operatorOf } from '../admin-guard.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in operator; the text is empty on pages without actions. */
    operator: string;
  }
}

/** Wrong passwords need not be counted here, because the guard of all pages has counted them (admin-guard.ts). */
export function guardOperators(app: FastifyInstance, admin: Settings['admin']): void {
  app.decorateRequest('operator', '');
  app.addHook('onRequest', async (request, reply) => {
    const operator = operatorOf(request.headers.authorization, admin);
    if (operator === null) return refusePassword(reply);
    request.operator = operator;
    // Forms name their origin, which `no-referrer` would suppress.
    reply.header('referrer-policy', 'same-origin');
    if (request.method !== 'POST' || isOwnForm(request)) return undefined;
    return reply.code(403).type('text/plain').send('A page of another site sent this.\n');
  });
}

export function refusePassword(reply: FastifyReply): FastifyReply {
  return reply
    .code(401)
    .header('www-authenticate', 'Basic realm="billsync operator", charset="UTF-8"')
    .type('text/plain')
    .send('A user and a password of an operator are needed (BILLSYNC_OPERATOR_BASIC_AUTH).\n');
}

/** Browsers name the origin of a form; another client has no token (agreements.ts). */
export function isOwnForm({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  const { origin, host } = headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

export function parseForms(app: FastifyInstance, maxBytes: number): void {
  const text = { parseAs: 'string', bodyLimit: maxBytes } as const;
  app.addContentTypeParser('application/x-www-form-urlencoded', text, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );
}
