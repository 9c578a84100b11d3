import type { Settings } from '../config/settings.ts';
import { withoutUrlQueries } from '../text.ts';
import { withoutPassingSecrets } from './passing-secrets.ts';

export type Scrub = (text: string) => string;

export type ScrubSettings = Pick<Settings, 'service'> &
  Partial<Pick<Settings, 'webhook' | 'admin' | 'encryptionKeys' | 'warehouse' | 'alerts' | 'otlpEndpoint'>>;

const MIN_SECRET_LENGTH = 4;
const MASK = '***';
const NUMERIC = /^[\d.,:+-]*$/;

/** @param options.keepNumbers true for data on stdout, where a password of digits could also be an amount */
export function createScrub(
  settings: ScrubSettings,
  options: { readonly keepNumbers?: boolean; readonly env?: NodeJS.ProcessEnv } = {},
): Scrub {
  const { keepNumbers = false, env = process.env } = options;
  const spellings = [...new Set(secretsOf(settings, env).flatMap(spellingsOf))]
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH && !(keepNumbers && NUMERIC.test(secret)))
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  const secrets = new RegExp(spellings.length === 0 ? '(?!)' : spellings.join('|'), 'g');
  return (text) => {
    // Secrets are masked before URLs are cut, since a secret without its tail would not be recognized.
    return withoutPassingSecrets(withoutUrlQueries(text.replace(secrets, MASK)))
      .replace(/\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})/gi, maskCredentials)
      .replace(
        /((?:access_token|client_secret|refresh_token)\\?"?\s*[:=]\s*\\?"?)[^"\s&,{}[\]\\]+/gi,
        `$1${MASK}`,
      );
  };
}

/** `Basic authentication` is no secret: encoded credentials contain capitals, digits or padding. */
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

/** The first and last characters of base64 depend on the bytes beside the secret. Short texts would match anywhere. */
function base64Inside(bytes: Buffer, shift: number): string[] {
  const shifted = Buffer.concat([Buffer.alloc(shift), bytes]);
  const whole = shifted.toString('base64').replace(/=+$/, '');
  const inside = whole.slice(shift === 0 ? 0 : shift + 1, shifted.length % 3 === 0 ? undefined : -1);
  const texts = shift === 0 ? [shifted.toString('base64'), inside] : [inside];
  return texts
    .filter((text) => text.length >= 8)
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

const SECRET_VARIABLES = [
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS_CLIENT_KEY_DATA',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'PGPASSWORD',
];
/** The password is read when the module is loaded, because opening a lake removes it from the environment. */
const CATALOG_PASSWORD = process.env.PGPASSWORD;
const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'https_proxy', 'http_proxy', 'all_proxy'];

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
  // The headers are `name=value` pairs, of which each value may be a token.
  for (const pair of (env.OTEL_EXPORTER_OTLP_HEADERS ?? '').split(',')) {
    secrets.push(pair.slice(pair.indexOf('=') + 1).trim());
  }
  return secrets.filter((secret): secret is string => typeof secret === 'string' && secret !== '');
}

function pairOf(user: string, password: string): readonly string[] {
  return [password, Buffer.from(`${user}:${password}`, 'utf8').toString('base64')];
}

/** libpq accepts the password behind `?` too. */
function catalogPasswords(catalog: string): readonly string[] {
  const found = catalog.matchAll(/\bpassword\s*=\s*(?:'((?:[^'\\]|\\.)*)'|([^\s'&]+))/gi);
  const spelled = [...found].map(([, quoted, plain]) => (quoted ?? plain ?? '').replaceAll(/\\(.)/g, '$1'));
  const url = catalog.replace(/^postgres:(?=\/\/)/, 'postgresql:');
  const password = URL.canParse(url) ? new URL(url).password : '';
  return [...spelled, password].flatMap(decoded);
}

/** Returns the password of a URL, or its user when there is no password, because that may be a token. */
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
