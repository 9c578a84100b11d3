/** Takes secrets out of text that leaves the process: what commands write, log lines, reasons, alerts, pages. */

import type { Settings } from '../config/settings.ts';
import { withoutUrlQueries } from '../wire/text.ts';

export type Scrub = (text: string) => string;

export type ScrubSettings = Pick<Settings, 'service'> &
  Partial<Pick<Settings, 'webhook' | 'admin' | 'encryptionKeys' | 'warehouse' | 'alerts' | 'otlpEndpoint'>>;

/** Shorter values would turn ordinary words into stars. */
const SHORTEST_SECRET = 4;
/** What a person reads where a secret was. */
const MASK = '***';
/** Text of only these may be an amount, a date or a tracking number. */
const FIGURE = /^[\d.,:+-]*$/;

/**
 * Makes the function that removes every secret of the settings and of the environment, in all spellings in which it
 * travels (plain, in JSON, in a URL, in a form body, in base64 alone or as Basic credentials), any bearer or Basic
 * credentials, and the query of every URL.
 *
 * @param options.keepFigures for data on stdout: a password of digits only is not looked for, since it cannot be told
 *   from an amount, and no figure may be wrong
 * @param options.env where libraries find secrets of their own (Temporal, S3, PostgreSQL, tracing, proxies)
 */
export function createScrub(
  settings: ScrubSettings,
  options: { readonly keepFigures?: boolean; readonly env?: NodeJS.ProcessEnv } = {},
): Scrub {
  const { keepFigures = false, env = process.env } = options;
  const spellings = [...new Set(secretsOf(settings, env).flatMap(spellingsOf))]
    .filter((secret) => secret.length >= SHORTEST_SECRET && !(keepFigures && FIGURE.test(secret)))
    // Of two that start alike the longer is looked for first.
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  // Matches nothing where there is no secret.
  const secrets = new RegExp(spellings.length === 0 ? '(?!)' : spellings.join('|'), 'g');
  return (text) => {
    // Before anything is cut off a URL: a secret whose tail went with its query would not be known any more.
    return withoutUrlQueries(text.replace(secrets, MASK))
      .replace(/\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})/gi, maskCredentials)
      .replace(
        /((?:access_token|client_secret|refresh_token)\\?"?\s*[:=]\s*\\?"?)[^"\s&,{}[\]\\]+/gi,
        `$1${MASK}`,
      );
  };
}

/** `Basic authentication` is no secret: encoded credentials have capitals, digits or a filler. */
function maskCredentials(found: string, scheme: string, space: string, value: string): string {
  return /[A-Z0-9=+/]/.test(value) ? `${scheme}${space}${MASK}` : found;
}

const HTML: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    secret.replace(/[&<>"']/g, (character) => `&${HTML[character]};`),
    new URLSearchParams({ s: secret }).toString().slice(2),
    ...[0, 1, 2].flatMap((shift) => base64Inside(bytes, shift)),
  ];
}

/**
 * How base64 shows the bytes when `shift` bytes stand before them, in both alphabets. The first characters and the last
 * one depend on the neighbours, so they are left out; short secrets would then match anywhere.
 */
function base64Inside(bytes: Buffer, shift: number): string[] {
  const shifted = Buffer.concat([Buffer.alloc(shift), bytes]);
  const whole = shifted.toString('base64').replace(/=+$/, '');
  const inside = whole.slice(shift === 0 ? 0 : shift + 1, shifted.length % 3 === 0 ? undefined : -1);
  const texts = shift === 0 ? [shifted.toString('base64'), inside] : [inside];
  return texts
    .filter((text) => text.length >= 8)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

/** Variables that libraries read by themselves. */
const SECRET_VARIABLES = [
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS_CLIENT_KEY_DATA',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'PGPASSWORD',
];
/** Opening a lake removes it from the environment. */
const CATALOG_PASSWORD = process.env.PGPASSWORD;
const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'https_proxy', 'http_proxy', 'all_proxy'];

/** @returns each secret once or more often, never an empty one */
export function secretsOf(settings: ScrubSettings, env: NodeJS.ProcessEnv): readonly string[] {
  const { service, webhook, admin, encryptionKeys, warehouse, alerts, otlpEndpoint } = settings;
  const secrets: (string | null | undefined)[] = [service.clientSecret, service.apiKey];
  if (service.clientId !== null && service.clientSecret !== null)
    secrets.push(...pairOf(service.clientId, service.clientSecret));
  for (const { credentials } of webhook === undefined ? [] : [webhook, ...webhook.paths]) {
    for (const { user, password } of credentials.basicAuth) secrets.push(...pairOf(user, password));
    for (const { value } of credentials.headers) secrets.push(value);
  }
  for (const { user, password } of [admin?.basicAuth ?? [], admin?.operators ?? []].flat()) {
    secrets.push(...pairOf(user, password));
  }
  for (const { key } of encryptionKeys ?? []) secrets.push(Buffer.from(key).toString('base64'));
  if (warehouse?.kind === 'ducklake') secrets.push(...catalogPasswords(warehouse.catalog));
  // The path of a chat's webhook is its key.
  if (alerts?.webhookUrl) secrets.push(alerts.webhookUrl, pathOf(alerts.webhookUrl));
  const proxies = [service.httpsProxy, service.httpProxy];
  const urls = [
    service.baseUrl,
    service.authUrl,
    admin?.temporalUi,
    alerts?.webhookUrl,
    otlpEndpoint,
    ...proxies,
  ];
  for (const url of [...urls, ...PROXY_VARIABLES.map((name) => env[name])]) secrets.push(...userinfoOf(url));
  for (const name of SECRET_VARIABLES) secrets.push(env[name]);
  secrets.push(CATALOG_PASSWORD);
  // `name=value` pairs: each value may be a token.
  for (const pair of (env.OTEL_EXPORTER_OTLP_HEADERS ?? '').split(',')) {
    secrets.push(pair.slice(pair.indexOf('=') + 1).trim());
  }
  return secrets.filter((secret): secret is string => typeof secret === 'string' && secret !== '');
}

/** Basic credentials travel as base64 of the pair, which does not contain the base64 of the password alone. */
function pairOf(user: string, password: string): readonly string[] {
  return [password, Buffer.from(`${user}:${password}`, 'utf8').toString('base64')];
}

/** The password of `postgres:` followed by keywords or by a URL, wherever in it: libpq takes it behind `?` too. */
function catalogPasswords(catalog: string): readonly string[] {
  const found = catalog.matchAll(/\bpassword\s*=\s*(?:'((?:[^'\\]|\\.)*)'|([^\s'&]+))/gi);
  const spelled = [...found].map(([, quoted, plain]) => (quoted ?? plain ?? '').replaceAll(/\\(.)/g, '$1'));
  const url = catalog.replace(/^postgres:(?=\/\/)/, 'postgresql:');
  const password = URL.canParse(url) ? new URL(url).password : '';
  return [...spelled, password].flatMap(decoded);
}

/** The password of a URL's `user:password@`, as written and decoded; a user alone may be a token. */
function userinfoOf(url: string | null | undefined): readonly string[] {
  if (!url || !URL.canParse(url)) return [];
  const { username, password } = new URL(url);
  return decoded(password === '' ? username : password);
}

function decoded(text: string): readonly string[] {
  try {
    return [text, decodeURIComponent(text)];
  } catch {
    return [text];
  }
}

function pathOf(url: string): string {
  if (!URL.canParse(url)) return '';
  const { pathname } = new URL(url);
  return pathname.length >= 12 ? pathname : '';
}
