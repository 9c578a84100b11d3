/** The address of the lake's catalogue: one setting for two libraries with different notations. */

import type { PoolConfig } from 'pg';
import { type Settings, SettingsError } from '../../lib/config/settings.ts';

export type LakeSettings = Extract<Settings['warehouse'], { readonly kind: 'ducklake' }>;

export interface CatalogAddress {
  /** libpq's keywords without the password; DuckDB combines them with a secret. */
  readonly libpq: string;
  /** For `pg`. Contains the password: never show or store it. */
  readonly pool: PoolConfig;
  /** Without the password, for messages. */
  readonly shown: string;
  /** The password, to be removed from messages; empty when the address has none. */
  readonly password: string;
}

/**
 * @param catalog `postgres:host=… dbname=…` (libpq's keywords) or `postgres://user@host/database`; missing values come from PGHOST, the
 *   password file and the other sources of libpq. PGPASSWORD is read once
 * @throws SettingsError the text is neither
 */
export function readCatalogAddress(catalog: string): CatalogAddress {
  const rest = catalog.replace(/^postgres:/, '');
  if (rest.startsWith('//')) return fromUrl(`postgresql:${rest}`);
  if (/^postgres(?:ql)?:\/\//.test(rest)) return fromUrl(rest);
  return fromKeywords(rest);
}

/** From PGPASSWORD, which was removed from the environment: libpq would send it to every server that a statement names. */
let passwordOfEnvironment: string | undefined;

function takeFromEnvironment(): string {
  passwordOfEnvironment = process.env.PGPASSWORD ?? passwordOfEnvironment;
  delete process.env.PGPASSWORD;
  return passwordOfEnvironment ?? '';
}

/** Removes the password from a message of either library. */
export function withoutPassword(text: string, { password }: CatalogAddress): string {
  return password === '' ? text : text.replaceAll(password, '***');
}

function fromUrl(text: string): CatalogAddress {
  if (!URL.canParse(text)) throw wrongAddress('is no postgres:// URL with one host');
  const url = new URL(text);
  // libpq accepts a password after the question mark too.
  const password =
    decodeURIComponent(url.password) || (url.searchParams.get('password') ?? takeFromEnvironment());
  const shown = new URL(url);
  shown.password = '';
  shown.searchParams.delete('password');
  const libpq = keywordsOf(shown);
  url.password = encodeURIComponent(password);
  url.searchParams.delete('password');
  url.searchParams.set('uselibpqcompat', 'true');
  return { libpq, pool: { connectionString: url.href }, shown: shown.href, password };
}

function keywordsOf(url: URL): string {
  const placed = [
    ['host', url.hostname.replace(/^\[|\]$/g, '')],
    ['port', url.port],
    ['user', decodeURIComponent(url.username)],
    ['dbname', decodeURIComponent(url.pathname.slice(1))],
  ] as const;
  const words = new Map([...placed.filter(([, value]) => value !== ''), ...url.searchParams]);
  return [...words].map(([word, value]) => `${word}=${asWord(value)}`).join(' ');
}

/** Keywords with a position of their own in a URL; all others follow the question mark. */
const PLACED = ['host', 'hostaddr', 'port', 'user', 'password', 'dbname'];

function fromKeywords(text: string): CatalogAddress {
  const words = parseKeywords(text);
  const url = new URL('postgresql://localhost');
  // A URL has no empty host; libpq's default is a socket, which `pg` finds by its folder.
  const host = words.get('host') ?? words.get('hostaddr') ?? process.env.PGHOST ?? 'localhost';
  if (host.includes(',')) throw wrongAddress('names several hosts; name one that follows the primary');
  if (host.startsWith('/')) url.searchParams.set('host', host);
  else url.host = host.includes(':') ? `[${host}]` : host;
  url.port = words.get('port') ?? process.env.PGPORT ?? '';
  url.username = encodeURIComponent(words.get('user') ?? '');
  const password = words.get('password') ?? takeFromEnvironment();
  url.password = encodeURIComponent(password);
  url.pathname = encodeURIComponent(words.get('dbname') ?? '');
  for (const [word, value] of words) if (!PLACED.includes(word)) url.searchParams.set(word, value);
  url.searchParams.set('uselibpqcompat', 'true');
  const shown = [...words]
    .filter(([word]) => word !== 'password')
    .map(([word, value]) => `${word}=${asWord(value)}`);
  return {
    libpq: shown.join(' '),
    pool: { connectionString: url.href },
    shown: shown.join(' '),
    password,
  };
}

function asWord(value: string): string {
  return /^[^\s'\\]+$/.test(value) ? value : `'${value.replaceAll(/['\\]/g, '\\$&')}'`;
}

/** `host=a password='it''s \\'quoted\\''`: quoted values may contain spaces, and a backslash escapes the next character. */
function parseKeywords(text: string): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  const pattern = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)/gy;
  let end = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    words.set(found[1] ?? '', (found[2] ?? found[3] ?? '').replaceAll(/\\(.)/g, '$1'));
    end = pattern.lastIndex;
  }
  if (text.slice(end).trim() !== '') {
    throw wrongAddress('is neither libpq keywords (host=… dbname=…) nor a postgres:// URL');
  }
  return words;
}

function wrongAddress(message: string): SettingsError {
  return new SettingsError([{ setting: 'BILLSYNC_WAREHOUSE', message }]);
}
