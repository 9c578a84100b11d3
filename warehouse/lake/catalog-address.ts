import type { PoolConfig } from 'pg';
import { type Settings, SettingsError } from '../../lib/config/settings.ts';

export type LakeSettings = Extract<Settings['warehouse'], { readonly kind: 'ducklake' }>;

export interface CatalogAddress {
  /** The keywords without the password, which DuckDB combines with a secret. */
  readonly libpq: string;
  /** Settings of the pool, which contain the password and must never be shown or stored. */
  readonly pool: PoolConfig;
  readonly printable: string;
  readonly password: string;
}

/**
 * Missing values come from PGHOST, the password file and the other sources of libpq. PGPASSWORD is read once.
 * @param catalog `postgres:host=… dbname=…` (libpq's keywords) or `postgres://user@host/database` @throws SettingsError
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

export function withoutPassword(text: string, { password }: CatalogAddress): string {
  return password === '' ? text : text.replaceAll(password, '***');
}

function fromUrl(text: string): CatalogAddress {
  if (!URL.canParse(text)) throw wrongAddress('is no postgres:// URL with one host');
  const url = new URL(text);
  // libpq accepts a password after the question mark too.
  const password =
    decodeURIComponent(url.password) || (url.searchParams.get('password') ?? takeFromEnvironment());
  const printable = new URL(url);
  printable.password = '';
  printable.searchParams.delete('password');
  const libpq = keywordsOf(printable);
  url.password = encodeURIComponent(password);
  url.searchParams.delete('password');
  url.searchParams.set('uselibpqcompat', 'true');
  return { libpq, pool: { connectionString: url.href }, printable: printable.href, password };
}

function keywordsOf(url: URL): string {
  const placed = [
    ['host', url.hostname.replace(/^\[|\]$/g, '')],
    ['port', url.port],
    ['user', decodeURIComponent(url.username)],
    ['dbname', decodeURIComponent(url.pathname.slice(1))],
  ] as const;
  const keywords = new Map([...placed.filter(([, value]) => value !== ''), ...url.searchParams]);
  return [...keywords].map(([keyword, value]) => `${keyword}=${quoted(value)}`).join(' ');
}

/** Keywords that have a place of their own in a URL; all others follow its question mark. */
const PLACED = ['host', 'hostaddr', 'port', 'user', 'password', 'dbname'];

function fromKeywords(text: string): CatalogAddress {
  const keywords = parseKeywords(text);
  const url = new URL('postgresql://localhost');
  // A URL has no empty host; libpq's default is a socket, which `pg` finds by its folder.
  const host = keywords.get('host') ?? keywords.get('hostaddr') ?? process.env.PGHOST ?? 'localhost';
  if (host.includes(',')) throw wrongAddress('names several hosts; name one that follows the primary');
  if (host.startsWith('/')) url.searchParams.set('host', host);
  else url.host = host.includes(':') ? `[${host}]` : host;
  url.port = keywords.get('port') ?? process.env.PGPORT ?? '';
  url.username = encodeURIComponent(keywords.get('user') ?? '');
  const password = keywords.get('password') ?? takeFromEnvironment();
  url.password = encodeURIComponent(password);
  url.pathname = encodeURIComponent(keywords.get('dbname') ?? '');
  for (const [keyword, value] of keywords)
    if (!PLACED.includes(keyword)) url.searchParams.set(keyword, value);
  url.searchParams.set('uselibpqcompat', 'true');
  const printable = [...keywords]
    .filter(([keyword]) => keyword !== 'password')
    .map(([keyword, value]) => `${keyword}=${quoted(value)}`);
  return {
    libpq: printable.join(' '),
    pool: { connectionString: url.href },
    printable: printable.join(' '),
    password,
  };
}

function quoted(value: string): string {
  return /^[^\s'\\]+$/.test(value) ? value : `'${value.replaceAll(/['\\]/g, '\\$&')}'`;
}

/** Quoted values may contain spaces, and a backslash escapes the next character. */
function parseKeywords(text: string): ReadonlyMap<string, string> {
  const keywords = new Map<string, string>();
  const pattern = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)/gy;
  let end = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    keywords.set(found[1] ?? '', (found[2] ?? found[3] ?? '').replaceAll(/\\(.)/g, '$1'));
    end = pattern.lastIndex;
  }
  if (text.slice(end).trim() !== '') {
    throw wrongAddress('is neither libpq keywords (host=… dbname=…) nor a postgres:// URL');
  }
  return keywords;
}

function wrongAddress(message: string): SettingsError {
  return new SettingsError([{ setting: 'BILLSYNC_WAREHOUSE', message }]);
}
