/** Which paths take deliveries, and with which credentials: one for all, or one per event type or tenant. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Settings } from '../lib/config/settings.ts';
import { type Authorize, createAuthorize, isOpen } from './authorize.ts';

export interface PathGuard {
  readonly path: string;
  readonly authorize: Authorize;
}

export interface PathGuards {
  /** null: nothing is delivered there. */
  readonly of: (pathname: string) => PathGuard | null;
  /** Whether a sender has the credentials of any path; false where none are set. */
  readonly isKnown: (headers: IncomingHttpHeaders) => boolean;
}

/**
 * What a path requires: the credentials of the longest configured path at or above it. A path below `webhook.path` without
 * its own credentials requires the common ones.
 */
export function createPathGuards(webhook: Settings['webhook']): PathGuards {
  const main = trimmed(webhook.path);
  const guards: PathGuard[] = [{ path: main, authorize: createAuthorize(webhook.credentials) }];
  for (const { path, credentials } of webhook.paths) {
    const own = isOpen(credentials) ? webhook.credentials : credentials;
    guards.push({ path: below(main, path), authorize: createAuthorize(own) });
  }
  guards.sort((a, b) => b.path.length - a.path.length);
  const all = [webhook.credentials, ...webhook.paths.map(({ credentials }) => credentials)];
  const known = all.filter((credentials) => !isOpen(credentials)).map(createAuthorize);
  return {
    of(pathname) {
      const asked = trimmed(pathname);
      return guards.find(({ path }) => asked === path || asked.startsWith(`${path}/`)) ?? null;
    },
    isKnown: (headers) => known.map((authorize) => authorize(headers)).includes(true),
  };
}

/**
 * The path of a request target, decoded, without query; null when it is none. Repeated slashes are one, as proxies that join
 * paths leave them.
 */
export function pathnameOf(target: string | undefined): string | null {
  try {
    // A target that begins with two slashes would be read as a host.
    const url = new URL((target ?? '').replace(/^\/+/, '/'), 'http://endpoint');
    return decodeURIComponent(url.pathname).replace(/\/{2,}/g, '/');
  } catch (error) {
    if (error instanceof URIError || error instanceof TypeError) return null;
    throw error;
  }
}

function below(main: string, path: string): string {
  const whole = trimmed(path);
  return whole === main || whole.startsWith(`${main}/`) ? whole : main + whole;
}

function trimmed(path: string): string {
  const withSlash = path.startsWith('/') ? path : `/${path}`;
  return withSlash.replace(/\/+$/, '');
}
