/** Reads the text of one setting into its value; each reader throws an Error whose message says what would be right. */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { CSV_TOLERANCES, type CsvTolerance } from '../wire/csv-file.ts';
import type { EnvironmentName } from '../wire/names.ts';
import { ENVIRONMENTS } from '../wire/names.ts';
import { printable } from '../wire/printable.ts';
import { durationMs } from './duration.ts';
import type { Settings } from './settings.ts';

export function readEnvironment(text: string): EnvironmentName {
  return oneOf(text, ENVIRONMENTS);
}

export function oneOf<T extends string>(text: string, words: readonly T[]): T {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw new Error(`must be one of ${words.join(', ')}, not "${text}"`);
  return word;
}

export function readBoolean(text: string): boolean {
  const lower = text.toLowerCase();
  if (['true', 'on', 'yes', '1'].includes(lower)) return true;
  if (['false', 'off', 'no', '0'].includes(lower)) return false;
  throw new Error(`must be true or false, not "${text}"`);
}

/** 0 asks the system for a free port. */
export function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`must be a port from 0 to 65535, not "${text}"`);
  return port;
}

/** @returns the URL without a trailing slash, so that paths can be appended. */
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
    // Said below, together with other schemes.
  }
  throw new Error(`must be an http or https URL, not ${withoutUserinfo(text)}`);
}

/** As it was written, marks that do not belong there included; credentials in front of an @ are not shown. */
function withoutUserinfo(text: string): string {
  return `<${printable(text.replace(/\/\/[^/]*@/, '//***@'), 80)}>`;
}

/** HTTP Basic ends the user at the first colon, so such an id would arrive as another (spec 4.1). */
export function readClientId(text: string): string {
  if (text.includes(':')) throw new Error('must not contain a colon: HTTP Basic cannot carry one in a user');
  return text;
}

/** Temporal keeps time in 64 bits and JavaScript in less: a workflow told to wait for ever would fail at every task. */
const LONGEST_DAYS = 3_650;

/** `90s`, `1h`: the text itself, once it is known to be a duration. @throws Error it is none */
export function readDuration(text: string): string {
  const trimmed = text.trim();
  try {
    if (durationMs(trimmed) <= durationMs(`${LONGEST_DAYS}d`)) return trimmed;
  } catch {
    throw new Error(`must be a duration such as 30s, 15m, 1h or 7d, not "${text}"`);
  }
  throw new Error(`must be at most ${LONGEST_DAYS}d, not "${text}"`);
}

/** For what is done again after that time: without a pause it would be done without end. */
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

/** `60d` or `60`. */
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
  const hosts = readList(text).map((host) => host.toLowerCase());
  for (const host of hosts) {
    if (!/^\.?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/.test(host)) {
      throw new Error(`"${host}" is not a host such as files.example.com, .example.com or host:8443`);
    }
  }
  return hosts;
}

/** @returns each with its prefix length: `127.0.0.1` as `127.0.0.1/32` */
export function readNetworks(text: string): readonly string[] {
  return readList(text).map((network) => {
    const [address = '', bits, ...more] = network.split('/');
    const most = isIP(address) === 6 ? 128 : 32;
    const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (isIP(address) === 0 || more.length > 0 || !(length <= most)) {
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

/** `line-ends,decimals`: each once, in any order. */
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
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(text)) throw new Error('must be a word such as auto or acme');
  return text;
}

export function readUrlPath(text: string): string {
  if (!/^\/[\w\-./~]*$/.test(text) || text.split('/').includes('..')) {
    throw new Error(`must be a path such as /webhooks/billing, not "${text}"`);
  }
  return text.length > 1 ? text.replace(/\/+$/, '') : text;
}

export function readWarehouse(
  text: string,
  context: { readonly cwd: string; readonly lakeData: string | null },
): Settings['warehouse'] {
  if (text.startsWith('duckdb:')) {
    const path = text.slice('duckdb:'.length);
    if (path === '') throw new Error('duckdb: needs a path behind it');
    return { kind: 'duckdb', path: resolve(context.cwd, path) };
  }
  if (text.startsWith('ducklake:postgres:')) {
    if (context.lakeData === null) throw new Error('ducklake needs BILLSYNC_LAKE_DATA, a folder or s3://…');
    return { kind: 'ducklake', catalog: text.slice('ducklake:'.length), dataPath: context.lakeData };
  }
  throw new Error('must begin with duckdb: or ducklake:postgres:');
}

export function readArchive(text: string, cwd: string): Settings['archive'] {
  if (!text.includes('://')) return { kind: 'folder', path: resolve(cwd, text) };
  if (!/^s3:\/\/[^/]+/.test(text)) throw new Error('must be a folder or s3://bucket/prefix');
  return { kind: 's3', url: text.replace(/\/+$/, '') };
}

export function readMemoryLimit(text: string): string {
  if (!/^(?=.*[1-9])\d{1,6}(\.\d{1,3})?\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/i.test(text)) {
    throw new Error(`must be a size such as 1GB, not "${text}"`);
  }
  return text;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
