/** Which paths take deliveries, and with which credentials: one for all, or one per event type or tenant. */

import type { Settings } from '../config/settings.js';
import { type Authorize, createAuthorize, isOpen } from './authorize.js';

export interface Door {
  readonly path: string;
  readonly authorize: Authorize;
}

/**
 * Makes the function that finds the door of a path: the longest configured path at or above it, so a path below
 * `webhook.path` without credentials of its own asks for the common ones. null: nothing is delivered there.
 */
export function createDoors(webhook: Settings['webhook']): (pathname: string) => Door | null {
  const main = trimmed(webhook.path);
  const doors: Door[] = [{ path: main, authorize: createAuthorize(webhook.credentials) }];
  for (const { path, credentials } of webhook.paths) {
    const own = isOpen(credentials) ? webhook.credentials : credentials;
    doors.push({ path: below(main, path), authorize: createAuthorize(own) });
  }
  doors.sort((a, b) => b.path.length - a.path.length);
  return (pathname) => {
    const asked = trimmed(pathname);
    return doors.find(({ path }) => asked === path || asked.startsWith(`${path}/`)) ?? null;
  };
}

/** The path of a request target, decoded, without query; null when it is none. */
export function pathnameOf(target: string | undefined): string | null {
  try {
    return decodeURIComponent(new URL(target ?? '', 'http://door').pathname);
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
