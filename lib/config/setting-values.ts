/** Each reader throws an Error whose message names what is allowed; secrets are not quoted. */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { printable } from '../text.ts';
import { CSV_TOLERANCES, type CsvTolerance } from '../wire/csv-file.ts';
import { ENVIRONMENTS, type EnvironmentName } from '../wire/names.ts';

export interface WebhookCredentials {
  readonly basicAuth: readonly { readonly user: string; readonly password: string }[];
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

export interface WebhookPath {
  readonly path: string;
  readonly credentials: WebhookCredentials;
}

export function readText(text: string): string {
  return text;
}

export function readPath(text: string, folder: string): string {
  return resolve(folder, text);
}

export function readPathOrUrl(text: string, folder: string): string {
  return text.includes('://') ? text : resolve(folder, text);
}

export const readEnvironment = oneOf<EnvironmentName>(ENVIRONMENTS);
export const readLogLevel = oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']);
export const readLogFormat = oneOf(['pretty', 'json']);

function oneOf<const T extends string>(allowed: readonly T[]) {
  return (text: string): T => {
    const value = allowed.find((candidate) => candidate === text);
    if (value === undefined) throw new Error(`must be one of ${allowed.join(', ')}, not "${text}"`);
    return value;
  };
}

export function readBoolean(text: string): boolean {
  const lower = text.toLowerCase();
  if (['true', 'on', 'yes', '1'].includes(lower)) return true;
  if (['false', 'off', 'no', '0'].includes(lower)) return false;
  throw new Error(`must be true or false, not "${text}"`);
}

/** Port 0 selects a free port. */
export function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`must be a port from 0 to 65535, not "${text}"`);
  return port;
}

/** Returns the URL without a trailing slash, so that paths can be appended. */
export function readHttpsUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Error(`must be a URL such as https://api.example.com, not ${withoutUserinfo(text)}`);
  }
  if (url.protocol !== 'https:') throw new Error(`must begin with https://, not ${withoutUserinfo(text)}`);
  if (url.username !== '' || url.password !== '') throw new Error('must not carry a user or password');
  if (url.search !== '' || url.hash !== '') throw new Error('must not carry a query or fragment');
  return text.replace(/\/+$/, '');
}

export function readHttpUrl(text: string): string {
  try {
    if (['http:', 'https:'].includes(new URL(text).protocol)) return text;
  } catch {
    // Text that is no URL is refused below, as other schemes are.
  }
  throw new Error(`must be an http or https URL, not ${withoutUserinfo(text)}`);
}

function withoutUserinfo(text: string): string {
  return `<${printable(text.replace(/\/\/[^/]*@/, '//***@'), 80)}>`;
}

/** HTTP Basic ends the user at the first colon, so such an id would arrive as another (spec 4.1). */
export function readClientId(text: string): string {
  if (text.includes(':')) throw new Error('must not contain a colon: HTTP Basic cannot carry one in a user');
  return text;
}

/** Temporal and JavaScript cannot represent longer timers; a workflow would fail at every task. */
const MAX_DAYS = 3_650;

export function readDuration(text: string): string {
  const trimmed = text.trim();
  try {
    if (durationMs(trimmed) <= durationMs(`${MAX_DAYS}d`)) return trimmed;
  } catch {
    throw new Error(`must be a duration such as 30s, 15m, 1h or 7d, not "${text}"`);
  }
  throw new Error(`must be at most ${MAX_DAYS}d, not "${text}"`);
}

/** At least one second, because work that is repeated without a pause never ends. */
export function readInterval(text: string): string {
  const interval = readDuration(text);
  if (durationMs(interval) < 1_000) throw new Error(`must be at least 1s, not "${text}"`);
  return interval;
}

export function readDurations(text: string): readonly string[] {
  const durations = readList(text).map(readInterval);
  if (durations.length === 0) throw new Error('must name at least one duration, e.g. 1h,6h,24h');
  return durations;
}

export function readDays(text: string): number {
  const found = /^(\d{1,4})\s*(d|days?)?$/i.exec(text.trim());
  if (found === null) throw new Error(`must be a number of days such as 60d, not "${text}"`);
  return Number(found[1]);
}

export function readList(text: string): readonly string[] {
  return text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function readHosts(text: string): readonly string[] {
  return readList(text).map((entry) => {
    const [host = '', ...folders] = entry.split('/');
    const name = host.toLowerCase();
    const isHost = /^\.?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/.test(name);
    const prefix = folders.filter((folder) => folder !== '').join('/');
    if (!isHost || !/^(?:[\w.~!$&'()*+,;=:@%-]+(?:\/|$))*$/.test(prefix)) {
      throw new Error(
        `"${entry}" is not a host such as files.example.com, .example.com, host:8443 or host/bucket/`,
      );
    }
    if (isSharedStorage(name.replace(/:\d+$/, ''), prefix))
      throw new Error(
        `"${entry}" is a host where everybody can store a file: name the bucket too, as in host/bucket/`,
      );
    return prefix === '' ? name : `${name}/${prefix}/`;
  });
}

/** Storage services whose customers share its hosts, so that a host alone does not name the customer. */
const SHARED_STORAGE =
  /(?:^|\.)(?:amazonaws\.com(?:\.cn)?|windows\.net|(?:storage\.)?googleapis\.com|(?:digitaloceanspaces|wasabisys|backblazeb2|linodeobjects|vultrobjects|cloudflarestorage|aliyuncs|myqcloud)\.com|cloudfront\.net|yandexcloud\.net|scw\.cloud)$/;
/** Hosts of shared storage whose addresses name the bucket in the path; the other hosts contain it in their own name. */
const NAMES_NO_BUCKET =
  /^(?:s3|oss|cos|storage)(?:[.-]|$)|^[a-z0-9-]+\.(?:digitaloceanspaces|linodeobjects|vultrobjects)\.com$/;

function isSharedStorage(name: string, prefix: string): boolean {
  if (name.startsWith('.')) return SHARED_STORAGE.test(name) || !name.slice(1).includes('.');
  return prefix === '' && SHARED_STORAGE.test(name) && NAMES_NO_BUCKET.test(name);
}

/** @returns each network with its prefix length: `127.0.0.1` as `127.0.0.1/32` */
export function readNetworks(text: string): readonly string[] {
  return readList(text).map((network) => {
    const [address = '', bits, ...more] = network.split('/');
    const maxBits = isIP(address) === 6 ? 128 : 32;
    const length = bits === undefined ? maxBits : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (isIP(address) === 0 || more.length > 0 || !(length <= maxBits)) {
      throw new Error(`"${network}" is not an address or network such as 10.0.0.7, 10.0.0.0/8 or fd00::/8`);
    }
    return `${address}/${length}`;
  });
}

export function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d{1,6}$/.test(text) || count < 1) {
    throw new Error(`must be a whole number from 1 to 999999, not "${text}"`);
  }
  return count;
}

export function readTolerances(text: string): readonly CsvTolerance[] {
  const named = new Set(readList(text));
  for (const name of named) {
    if (!CSV_TOLERANCES.some((tolerance) => tolerance === name)) {
      throw new Error(`"${name}" is none of ${CSV_TOLERANCES.join(', ')}`);
    }
  }
  return CSV_TOLERANCES.filter((tolerance) => named.has(tolerance));
}

export function readHeaderName(text: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new Error('must be the name of a header');
  return text.toLowerCase();
}

export function readWirePrefix(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(text)) throw new Error('must be auto or a prefix such as acme');
  return text;
}

export function readUrlPath(text: string): string {
  if (!/^\/[\w\-./~]*$/.test(text) || text.split('/').includes('..')) {
    throw new Error(`must be a path such as /webhooks/billing, not "${text}"`);
  }
  return text.length > 1 ? text.replace(/\/+$/, '') : text;
}

export function readWarehouse(text: string, folder: string) {
  if (text.startsWith('duckdb:')) {
    const path = text.slice('duckdb:'.length);
    if (path === '') throw new Error('duckdb: needs a path behind it');
    return { kind: 'duckdb', path: resolve(folder, path) } as const;
  }
  if (text.startsWith('ducklake:postgres:')) {
    return { kind: 'ducklake', catalog: text.slice('ducklake:'.length) } as const;
  }
  throw new Error('must begin with duckdb: or ducklake:postgres:');
}

export function readArchive(text: string, folder: string) {
  if (!text.includes('://')) return { kind: 'folder', path: resolve(folder, text) } as const;
  if (!/^s3:\/\/[^/]+/.test(text)) throw new Error('must be a folder or s3://bucket/prefix');
  return { kind: 's3', url: text.replace(/\/+$/, '') } as const;
}

export function readMemoryLimit(text: string): string {
  if (!/^(?=.*[1-9])\d{1,6}(\.\d{1,3})?\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/i.test(text)) {
    throw new Error(`must be a size such as 1GB, not "${text}"`);
  }
  return text;
}

type BasicAuth = WebhookCredentials['basicAuth'][number];
type RequiredHeader = WebhookCredentials['headers'][number];

export function readBasicAuth(text: string): readonly BasicAuth[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  // With one credential per line, a comma belongs to a password.
  if (/\n/.test(text)) return lines.map((line) => readOneBasicAuth(line.trim()));
  const parts = readList(text);
  const users = new Set(parts.map((part) => part.slice(0, Math.max(0, part.indexOf(':')))));
  if (parts.length < 2 || users.has('')) return lines.map((line) => readOneBasicAuth(line.trim()));
  if (users.size === 1) return parts.map(readOneBasicAuth);
  throw new Error(
    'is ambiguous: the comma may separate two credentials or belong to a password; write each credential on its own line, the last with a line end too (in the settings file: as a list)',
  );
}

export function readOneBasicAuth(text: string): BasicAuth {
  const colon = text.indexOf(':');
  if (colon < 1 || colon === text.length - 1) throw new Error('must be user:password, neither of them empty');
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

export function readHeaders(text: string): readonly RequiredHeader[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      const found = /^\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+):\s*(.*?)\s*$/.exec(line);
      if (found?.[1] === undefined || !found[2]) throw new Error(`line ${index + 1} is not "Name: value"`);
      return { name: found[1].toLowerCase(), value: found[2] };
    });
}

export function readEncryptionKeys(
  text: string,
): readonly { readonly id: string; readonly key: Uint8Array }[] {
  const keys = readList(text).map((part, index) => {
    const found = /^([\w.-]{1,64}):([A-Za-z0-9+/_-]+={0,2})$/.exec(part);
    if (found?.[1] === undefined || found[2] === undefined)
      throw new Error(`key ${index + 1} is not id:base64`);
    const key = new Uint8Array(Buffer.from(found[2], 'base64'));
    if (key.length !== 32) throw new Error(`key ${index + 1} has ${key.length} bytes, 32 are needed`);
    return { id: found[1], key };
  });
  if (new Set(keys.map(({ id }) => id)).size !== keys.length) throw new Error('two keys have the same id');
  return keys;
}

export function readSecretUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new Error('must be an http or https URL, such as https://host.example:3128');
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^ms$/i, 1],
  [/^s(?:ec)?$/i, SECOND_MS],
  [/^m(?:in)?$/i, 60 * SECOND_MS],
  [/^h(?:ours?)?$/i, HOUR_MS],
  [/^d(?:ays?)?$/i, DAY_MS],
  [/^w(?:eeks?)?$/i, 7 * DAY_MS],
];

export function durationMs(text: string): number {
  const [, number, suffix = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text.trim()) ?? [];
  const unit = UNITS.find(([pattern]) => pattern.test(suffix));
  if (number === undefined || unit === undefined) {
    throw new RangeError(`Not a duration: ${text}. Write e.g. 90s, 1h or 7d.`);
  }
  return Number(number) * unit[1];
}
