/** Authorization of operators: a separate password, and a form of our own page. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../../lib/config/settings.ts';
import { operatorOf } from '../admin-guard.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The operator who asks; empty on pages that only show. */
    operator: string;
  }
}

/** Answers everybody else. Wrong passwords were counted before any page. */
export function createOperatorGuard(
  admin: Settings['admin'],
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  return async (request, reply) => {
    const operator = operatorOf(request.headers.authorization, admin);
    if (operator === null) {
      return reply
        .code(401)
        .header('www-authenticate', 'Basic realm="billsync operator", charset="UTF-8"')
        .type('text/plain')
        .send('A user and a password of an operator are needed (BILLSYNC_OPERATOR_BASIC_AUTH).\n');
    }
    request.operator = operator;
    // Our own forms say where they are; the policy of the other pages would have browsers say "null".
    reply.header('referrer-policy', 'same-origin');
    if (request.method !== 'POST' || isOfOurs(request)) return undefined;
    return reply.code(403).type('text/plain').send('This was asked by a page of another site.\n');
  };
}

/** A browser says where a form stands. What says nothing is no browser, and has no word that is good (agreements.ts). */
export function isOfOurs({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  const { origin, host } = headers;
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}
