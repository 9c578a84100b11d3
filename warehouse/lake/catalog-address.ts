/** Where the lake's catalogue is: one setting, told to two libraries that spell addresses differently. */

import type { PoolConfig } from 'pg';

export interface CatalogAddress {
  /** As libpq takes it, which DuckDB asks; without the password. */
  readonly libpq: string;
  /** As `pg` takes it. Carries the password: never for people or files. */
  readonly pool: PoolConfig;
  /** For people. */
  readonly shown: string;
  /** What must not be seen in a message; empty when the address carries none. */
  readonly password: string;
}

/**
 * @param catalog `postgres:host=… dbname=…` (libpq's keywords) or `postgres://user@host/database`. What it leaves out
 *   comes from where PostgreSQL's own programs look: PGHOST, PGPASSWORD, the password file and the like.
 * @throws Error the text is neither
 */
export function readCatalogAddress(catalog: string): CatalogAddress {
  const rest = catalog.replace(/^postgres:/, '');
  if (rest.startsWith('//')) return fromUrl(`postgresql:${rest}`);
  if (/^postgres(?:ql)?:\/\//.test(rest)) return fromUrl(rest);
  return fromKeywords(rest);
}

/**
 * Gives libpq the password where it looks by itself. DuckDB writes the whole address into the messages of its errors, so
 * the password is no part of it.
 */
export function providePassword({ password }: CatalogAddress): void {
  if (password !== '') process.env.PGPASSWORD = password;
}

/** One text for the message, whichever library wrote it. */
export function withoutPassword(text: string, { password }: CatalogAddress): string {
  return password === '' ? text : text.replaceAll(password, '***');
}

function fromUrl(text: string): CatalogAddress {
  const url = new URL(text);
  // libpq takes a password behind the question mark as well.
  const password = decodeURIComponent(url.password) || (url.searchParams.get('password') ?? '');
  const shown = new URL(url);
  shown.password = '';
  shown.searchParams.delete('password');
  url.searchParams.set('uselibpqcompat', 'true');
  return { libpq: shown.href, pool: { connectionString: url.href }, shown: shown.href, password };
}

/** Keywords that have a place of their own in a URL; all others go behind the question mark. */
const PLACED = ['host', 'hostaddr', 'port', 'user', 'password', 'dbname'];

function fromKeywords(text: string): CatalogAddress {
  const words = parseKeywords(text);
  const url = new URL('postgresql://localhost');
  // A URL takes no empty host; libpq's own default is a socket, which `pg` knows by its folder.
  const host = words.get('host') ?? words.get('hostaddr') ?? process.env.PGHOST ?? 'localhost';
  if (host.startsWith('/')) url.searchParams.set('host', host);
  else url.host = host.includes(':') ? `[${host}]` : host;
  url.port = words.get('port') ?? process.env.PGPORT ?? '';
  url.username = encodeURIComponent(words.get('user') ?? '');
  url.password = encodeURIComponent(words.get('password') ?? '');
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
    password: words.get('password') ?? '',
  };
}

function asWord(value: string): string {
  return /^[^\s'\\]+$/.test(value) ? value : `'${value.replaceAll(/['\\]/g, '\\$&')}'`;
}

/** `host=a password='it''s \'quoted\''`: values in quotes may hold spaces, a backslash takes the next as it is. */
function parseKeywords(text: string): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  const pattern = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)/gy;
  let end = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    words.set(found[1] ?? '', (found[2] ?? found[3] ?? '').replaceAll(/\\(.)/g, '$1'));
    end = pattern.lastIndex;
  }
  if (text.slice(end).trim() !== '') {
    throw new Error('The catalogue is neither libpq keywords (host=… dbname=…) nor a postgres:// URL.');
  }
  return words;
}
