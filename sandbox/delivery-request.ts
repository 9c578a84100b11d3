/** What a delivery to a registration looks like on the wire, and whom it trusts, whoever sends it. */
import { DELIVERY_CONTENT_TYPE, DELIVERY_METHOD, DELIVERY_USER_AGENT } from './choices.js';
import type { Registration } from './model.js';

/** Requests under way at one receiver; a slow one holds up only itself. More would only shake more hands. */
export const CONNECTIONS = 16;

export type Trust = { readonly ca: string } | { readonly rejectUnauthorized: false };

/**
 * Without a CA of its own, any certificate is accepted: endpoints under rehearsal are on laptops and sign
 * themselves. A registration with `caPem` is verified as the real service would.
 */
export function trustOf({ caPem }: Registration): Trust {
  return caPem === null ? { rejectUnauthorized: false } : { ca: caPem };
}

/** Its connections serve a registration as long as it goes to the same place. */
export function lineKeyOf({ registrationId, url, caPem }: Registration): string {
  return `${registrationId} ${url} ${caPem ?? ''}`;
}

/** Custom headers win over ours, whatever their case (spec 2.3). */
export function headersOf(registration: Registration): Readonly<Record<string, string>> {
  const own = { 'content-type': DELIVERY_CONTENT_TYPE, 'user-agent': DELIVERY_USER_AGENT };
  const custom = Object.entries(registration.headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...own, ...(Object.fromEntries(custom) as Record<string, string>) };
}

/** Where the deliveries to a registration go, for whoever writes them by hand. */
export interface Destination {
  /** Names the connections that lead there. */
  readonly lineKey: string;
  /** An IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly trust: Trust;
  /** Of each request all that comes before the length of its body, as undici writes it. */
  readonly head: string;
}

export function destinationOf(registration: Registration): Destination {
  const { hostname, port, host, pathname, search } = new URL(registration.url);
  const first = `${DELIVERY_METHOD} ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  const fields = Object.entries(headersOf(registration)).map(([name, value]) => `${name}: ${value}\r\n`);
  return {
    lineKey: lineKeyOf(registration),
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 443),
    trust: trustOf(registration),
    head: `${first}${fields.join('')}`,
  };
}

/** A whole request, a character for each byte: header values are Latin-1, bodies UTF-8. */
export function requestBytes(head: string, body: string): string {
  const length = Buffer.byteLength(body);
  const bytes = length === body.length ? body : Buffer.from(body).toString('latin1');
  return `${head}content-length: ${length}\r\n\r\n${bytes}`;
}
