/** From loopback the pages need no password, from elsewhere they do. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import { BillsyncError, EXIT } from '../lib/errors.ts';
import { addressKey, createFailedLogins, type FailedLoginsMessages } from '../lib/failed-logins.ts';
import type { Logger } from '../lib/log/log.ts';

export class AdminPasswordMissingError extends BillsyncError {
  readonly code = 'admin-password-missing';
  override readonly exitCode = EXIT.usage;
  constructor(host: string) {
    super(
      `The dashboard would be open to everyone who can reach ${host}. Set a password (admin basic auth), or bind it to 127.0.0.1.`,
    );
  }
}

/** The path that the page of Temporal calls with the password of an operator. */
export const CODEC_PATH = '/operator/codec/decode';
const OPEN_PATHS = new Set(['/livez', '/readyz']);

const WRONG_PASSWORD: FailedLoginsMessages = {
  alertKey: 'dashboard/wrong-credentials',
  title: 'Wrong passwords for the dashboard were refused',
  detail:
    'A user or a monitor has an old password (BILLSYNC_ADMIN_BASIC_AUTH), or the password is being guessed.',
  log: 'a wrong password for the dashboard was refused',
};

export interface AdminGuardDeps {
  readonly admin: Settings['admin'];
  readonly log: Logger;
  readonly alerts?: Alerts;
}

/** @throws AdminPasswordMissingError others could reach the port and no password is set */
export function createAdminGuard(
  deps: AdminGuardDeps,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  const { admin } = deps;
  if (admin.basicAuth === null && !isLoopback(admin.host)) throw new AdminPasswordMissingError(admin.host);
  const logins = createFailedLogins({ ...deps, messages: WRONG_PASSWORD });
  return async (request, reply) => {
    if (isForeignLoad(request)) {
      return reply.code(403).type('text/plain').send('A page of another site asked for this.\n');
    }
    const { authorization } = request.headers;
    const isOpen = OPEN_PATHS.has(request.url);
    // With a password an open path has details, so guesses there count as well.
    if (isOpen && (authorization === undefined || admin.basicAuth === null)) return undefined;
    const sender = addressKey(request.socket.remoteAddress);
    if (authorization !== undefined && logins.isOver(sender))
      return reply.code(429).header('retry-after', '60').send();
    if (admin.basicAuth === null) {
      // A page of another site can point a name of its own at loopback; it cannot choose the Host header.
      if (isLoopbackName(request.hostname)) {
        if (authorization === undefined) return undefined;
        if (operatorOf(authorization, admin) === null) await logins.failed(sender);
        else logins.succeeded(sender);
        return undefined;
      }
      return reply.code(421).type('text/plain').send('This address is not served under that name.\n');
    }
    if (isAllowed(authorization, admin.basicAuth) || operatorOf(authorization, admin) !== null) {
      logins.succeeded(sender);
      return undefined;
    }
    // The first request of a browser has no password; it is no guess.
    if (authorization !== undefined) await logins.failed(sender);
    if (isOpen) return undefined;
    return reply
      .code(401)
      .header('www-authenticate', 'Basic realm="billsync", charset="UTF-8"')
      .type('text/plain')
      .send('A user and a password are needed.\n');
  };
}

/**
 * A foreign site that loads our pages in the background could make us compute, and measure the duration. Links are let through, and
 * so is the page of Temporal, which has a check of its own.
 */
function isForeignLoad({ headers, url }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site === 'none' || site === 'same-origin' || url.startsWith(CODEC_PATH)) return false;
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document';
}

export function isTrusted(request: FastifyRequest, admin: Settings['admin']): boolean {
  if (admin.basicAuth === null) return isLoopbackName(request.hostname);
  const { authorization } = request.headers;
  return isAllowed(authorization, admin.basicAuth) || operatorOf(authorization, admin) !== null;
}

export function operatorOf(authorization: string | undefined, admin: Settings['admin']): string | null {
  // The password is compared with that of every operator, so that the duration does not reveal which one matches.
  const found = admin.operators.filter((operator) => isAllowed(authorization, operator));
  return found[0]?.user ?? null;
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const bare = host.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback';
}

function isLoopbackName(hostname: string): boolean {
  return isLoopback(hostname.toLowerCase());
}

function isAllowed(
  authorization: string | undefined,
  expected: { readonly user: string; readonly password: string },
): boolean {
  const encoded = /^basic\s+([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '')?.[1] ?? '';
  // Digests are of one length, so the comparison takes the same time whatever was sent (hazard 38).
  return timingSafeEqual(
    digest(Buffer.from(encoded, 'base64').toString('utf8')),
    digest(`${expected.user}:${expected.password}`),
  );
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
