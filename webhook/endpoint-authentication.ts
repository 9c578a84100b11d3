/** Which paths take deliveries, and with which credentials: one for all, or one per event type or tenant. */

import type { Settings } from '../config/settings.ts';
import { type Authorize, createAuthorize, isOpen } from './authorize.ts';

export interface PathGuard {
  readonly path: string;
  readonly authorize: Authorize;
}

/**
 * Makes the function that finds what a path requires: the credentials of the longest configured path at or above it. A path
 * below `webhook.path` without its own credentials requires the common ones. null: nothing is delivered there.
 */
export function createPathGuards(webhook: Settings['webhook']): (pathname: string) => PathGuard | null {
  const main = trimmed(webhook.path);
  const guards: PathGuard[] = [{ path: main, authorize: createAuthorize(webhook.credentials) }];
  for (const { path, credentials } of webhook.paths) {
    const own = isOpen(credentials) ? webhook.credentials : credentials;
    guards.push({ path: below(main, path), authorize: createAuthorize(own) });
  }
  guards.sort((a, b) => b.path.length - a.path.length);
  return (pathname) => {
    const asked = trimmed(pathname);
    return guards.find(({ path }) => asked === path || asked.startsWith(`${path}/`)) ?? null;
  };
}

/** The path of a request target, decoded, without query; null when it is none. */
export function pathnameOf(target: string | undefined): string | null {
  try {
    return decodeURIComponent(new URL(target ?? '', 'http://endpoint').pathname);
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
