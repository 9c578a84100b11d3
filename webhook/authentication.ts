import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Settings, WebhookCredentials } from '../lib/config/settings.ts';

type Authorize = (headers: IncomingHttpHeaders) => boolean;

export interface EndpointPaths {
  readonly find: (pathname: string) => Authorize | null;
  readonly isKnown: Authorize;
}

/** The longest configured path at or above the requested one decides. */
export function createEndpointPaths({ path: main, credentials, paths }: Settings['webhook']): EndpointPaths {
  const all = [
    { path: normalized(main), credentials },
    ...paths.map((further) => ({
      path: pathBelow(normalized(main), normalized(further.path)),
      credentials: hasNoCredentials(further.credentials) ? credentials : further.credentials,
    })),
  ].map((one) => ({ ...one, authorize: createAuthorize(one.credentials) }));
  all.sort((a, b) => b.path.length - a.path.length);
  const closed = all.filter((one) => !hasNoCredentials(one.credentials));
  return {
    find(pathname) {
      const requested = normalized(pathname);
      const found = all.find(({ path }) => requested === path || requested.startsWith(`${path}/`));
      return found?.authorize ?? null;
    },
    isKnown: (headers) => closed.map(({ authorize }) => authorize(headers)).includes(true),
  };
}

/**
 * Any Basic pair is accepted, every header is required. The time does not depend on how much of the credentials is
 * right.
 */
function createAuthorize(credentials: WebhookCredentials): Authorize {
  const pairs = credentials.basicAuth.map(({ user, password }) => digest(Buffer.from(`${user}:${password}`)));
  const required = credentials.headers.map(({ name, value }) => ({
    name: name.toLowerCase(),
    value: digest(Buffer.from(value.trim())),
  }));
  return (headers) => {
    const given = digest(basicCredentials(headers.authorization));
    // Every comparison is made, so that the time of an answer says nothing.
    const matches = pairs.map((pair) => timingSafeEqual(pair, given));
    const present = required.map(({ name, value }) =>
      timingSafeEqual(value, digest(headerBytes(headers[name]))),
    );
    return (pairs.length === 0 || matches.includes(true)) && !present.includes(false);
  };
}

export function hasNoCredentials(credentials: WebhookCredentials): boolean {
  return credentials.basicAuth.length === 0 && credentials.headers.length === 0;
}

/** The path of a target without its query; null for no path. Proxies that join paths leave repeated slashes. */
export function pathnameOf(target: string | undefined): string | null {
  try {
    // `new URL` would read a target that begins with two slashes as a host.
    const url = new URL((target ?? '').replace(/^\/+/, '/'), 'http://endpoint');
    return decodeURIComponent(url.pathname).replace(/\/{2,}/g, '/');
  } catch (error) {
    if (error instanceof URIError || error instanceof TypeError) return null;
    throw error;
  }
}

function pathBelow(main: string, path: string): string {
  return path === main || path.startsWith(`${main}/`) ? path : main + path;
}

function normalized(path: string): string {
  return `/${path}`.replace(/^\/+/, '/').replace(/\/+$/, '');
}

/** `timingSafeEqual` throws on unequal lengths; digests have one length and hide that of the secret. */
function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function basicCredentials(header: string | undefined): Buffer {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header ?? '')?.[1];
  return Buffer.from(encoded ?? '', 'base64');
}

/** Node decodes header bytes as Latin-1; the settings are UTF-8. */
function headerBytes(value: string | string[] | undefined): Buffer {
  return Buffer.from((Array.isArray(value) ? value.join(', ') : (value ?? '')).trim(), 'latin1');
}
