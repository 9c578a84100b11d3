/** Every secret that the settings and the environment hold, as plain text. */

import type { ScrubSettings } from './scrub.ts';

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
