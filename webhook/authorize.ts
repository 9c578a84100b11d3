/** Checks whether a sender has the credentials of a path, in a time that does not depend on how much of them is right. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Settings, WebhookCredentials } from '../lib/config/settings.ts';

export type Authorize = (headers: IncomingHttpHeaders) => boolean;

/**
 * Makes the check of one path. Any of the Basic pairs is accepted (two during a rotation), every header is required; a
 * path that has both needs both, a path that has neither is open.
 */
export function createAuthorize(credentials: WebhookCredentials): Authorize {
  const pairs = credentials.basicAuth.map(({ user, password }) => digest(Buffer.from(`${user}:${password}`)));
  const required = credentials.headers.map(({ name, value }) => ({
    name: name.toLowerCase(),
    value: digest(Buffer.from(value.trim())),
  }));
  return (headers) => {
    const given = digest(basicCredentials(headers.authorization));
    // Every comparison is made, whatever the result of the first ones.
    const matches = pairs.map((pair) => timingSafeEqual(pair, given));
    const present = required.map(({ name, value }) =>
      timingSafeEqual(value, digest(headerBytes(headers[name]))),
    );
    return (pairs.length === 0 || matches.includes(true)) && !present.includes(false);
  };
}

export function isOpen(credentials: WebhookCredentials): boolean {
  return credentials.basicAuth.length === 0 && credentials.headers.length === 0;
}

const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost'];

/** Where an endpoint listens: without credentials on this machine alone, unless `isOpenAllowed` (ADR 8). */
export function hostOf(
  { host, credentials }: Pick<Settings['webhook'], 'host' | 'credentials'>,
  isOpenAllowed: boolean,
): string {
  return !isOpen(credentials) || isOpenAllowed || LOOPBACK.includes(host) ? host : '127.0.0.1';
}

/** `timingSafeEqual` throws on unequal lengths; digests have one length, and hide how long the secret is. */
function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function basicCredentials(header: string | undefined): Buffer {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header ?? '')?.[1];
  return Buffer.from(encoded ?? '', 'base64');
}

/** Node reads header bytes as Latin-1; as bytes again they compare with the UTF-8 of the settings. */
function headerBytes(value: string | string[] | undefined): Buffer {
  return Buffer.from((Array.isArray(value) ? value.join(', ') : (value ?? '')).trim(), 'latin1');
}
