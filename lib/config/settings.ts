/** The effective settings of a process. The names of variables are in setting-definitions.ts. */

import type { CsvTolerance } from '../wire/csv-file.ts';
import { BillsyncError, EXIT } from '../wire/errors.ts';
import type { EnvironmentName } from '../wire/names.ts';

export interface WebhookCredentials {
  /** `user:password` pairs, any of which is good (two during a rotation). */
  readonly basicAuth: readonly { readonly user: string; readonly password: string }[];
  /** Each is required. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

export interface Settings {
  /** Absolute. */
  readonly dataDir: string;
  readonly environment: EnvironmentName;
  readonly service: {
    /** null when no service is configured. */
    readonly baseUrl: string | null;
    readonly authUrl: string | null;
    readonly clientId: string | null;
    readonly clientSecret: string | null;
    readonly apiKey: string | null;
    readonly apiKeyHeader: string;
    readonly caFile: string | null;
    /** Both or none. Sent to the service when it requests a certificate, never to its storage. */
    readonly clientCert: string | null;
    readonly clientKey: string | null;
    /** `https://user:password@proxy:3128`: secrets, as any URL of a proxy may be. */
    readonly httpsProxy: string | null;
    readonly httpProxy: string | null;
    readonly noProxy: string | null;
    readonly downloadHosts: readonly string[];
    readonly allowPrivateHosts: boolean;
  };
  /** null: learned from the token. */
  readonly partnerId: string | null;
  /** `auto` takes any maker's prefix. */
  readonly wirePrefix: string;
  readonly webhook: {
    readonly host: string;
    readonly port: number;
    readonly path: string;
    /** false behind a proxy (BILLSYNC_WEBHOOK_TLS=off). */
    readonly tls: boolean;
    /** null: self-signed in the data folder. */
    readonly tlsCert: string | null;
    readonly tlsKey: string | null;
    readonly credentials: WebhookCredentials;
    /** true: an endpoint without credentials may listen on other interfaces than loopback (BILLSYNC_WEBHOOK_OPEN). */
    readonly open?: boolean;
    /** The defaults are in webhook/connections.ts. */
    readonly connectionLimits?: { readonly connections: number; readonly connectionsPerAddress: number };
    /** Networks (`10.0.0.0/8`) of proxies whose X-Forwarded-For is believed. */
    readonly trustedProxies?: readonly string[];
    /** Further paths below `path` with credentials of their own, from the settings file. */
    readonly paths: readonly { readonly path: string; readonly credentials: WebhookCredentials }[];
  };
  readonly admin: {
    /** A duration; 20s by default. */
    readonly pageTimeout?: string;
    readonly host: string;
    readonly port: number;
    /** `user:password` for the dashboard; needed when the host is not loopback. */
    readonly basicAuth: { readonly user: string; readonly password: string } | null;
    /** Users who may act from the dashboard; none by default. */
    readonly operators?: WebhookCredentials['basicAuth'];
    /** Temporal's web pages up to the namespace, for links; null: there are none to link to. */
    readonly temporalUi?: string | null;
  };
  /** Durations as text, e.g. `1h`; the last repeats. */
  readonly overdueAfter: readonly string[];
  readonly reconcileEvery: string;
  /** For how many days after the invoice date the details of loaded invoices are checked again. */
  readonly recheckLoadedDays: number;
  /** Whether a void that only an event reports is confirmed with the service. */
  readonly confirmVoids: boolean;
  /** `id:base64` of 32 bytes, the first encrypts, all decrypt; empty: generated for embedded Temporal. */
  readonly encryptionKeys: readonly { readonly id: string; readonly key: Uint8Array }[];
  readonly warehouse:
    | { readonly kind: 'duckdb'; readonly path: string }
    | { readonly kind: 'ducklake'; readonly catalog: string; readonly dataPath: string };
  readonly warehouseMemoryLimit: string | null;
  /** Deviations from the specified form of a CSV that are accepted. */
  readonly csvTolerate: readonly CsvTolerance[];
  readonly archive:
    | { readonly kind: 'folder'; readonly path: string }
    | { readonly kind: 's3'; readonly url: string };
  /** false: embedded, because TEMPORAL_ADDRESS (or a profile) is unset. */
  readonly temporalConfigured: boolean;
  readonly alerts: {
    readonly file: string | null;
    readonly webhookUrl: string | null;
    readonly quietWindow: string;
    /** Address of the runbook for links in alerts. */
    readonly runbookUrl?: string | null;
    /** Address of the dashboard for links in cost alerts. */
    readonly dashboardUrl?: string | null;
  };
  readonly log: { readonly level: string; readonly format: 'pretty' | 'json' };
  readonly otlpEndpoint: string | null;
}

/** Checks the settings that calls of the billing service need. @throws SettingsError */
export function requireService(settings: Settings): void {
  const { baseUrl, authUrl, clientId, clientSecret, apiKey } = settings.service;
  const needed: readonly (readonly [string, unknown])[] = [
    ['BILLSYNC_BASE_URL', baseUrl],
    ...(apiKey === null
      ? ([
          ['BILLSYNC_AUTH_URL', authUrl],
          ['BILLSYNC_CLIENT_ID', clientId],
          ['BILLSYNC_CLIENT_SECRET', clientSecret],
        ] as const)
      : []),
  ];
  const problems = needed
    .filter(([, value]) => value === null)
    .map(([setting]) => ({ setting, message: NOT_SET }));
  if (problems.length > 0) throw new SettingsError(problems);
}

export interface SettingsProblem {
  /** The variable, key or flag as the person wrote it. */
  readonly setting: string;
  /** The problem and what is allowed; never the value of a secret. */
  readonly message: string;
}

/** The message for a required setting that is missing. */
export const NOT_SET = 'is not set';

export class SettingsError extends BillsyncError {
  readonly code = 'invalid-settings';
  override readonly exitCode = EXIT.usage;
  readonly problems: readonly SettingsProblem[];

  constructor(problems: readonly SettingsProblem[]) {
    super(problems.map(({ setting, message }) => `${setting}: ${message}`).join('\n'));
    this.problems = problems;
  }
}

export interface SuspiciousSecret {
  readonly setting: string;
  /** The suspicious characters and their place; never the value. */
  readonly what: string;
}

/** The secrets of the account and of the endpoint that look damaged; each is named once. */
export function suspiciousSecrets(
  settings: Pick<Settings, 'service' | 'webhook'>,
): readonly SuspiciousSecret[] {
  const { service, webhook } = settings;
  const basic = (setting: string, { basicAuth }: WebhookCredentials) =>
    basicAuth.map(({ user, password }) => [setting, `${user}:${password}`] as const);
  const texts: (readonly [string, string | null])[] = [
    ['BILLSYNC_CLIENT_ID', service.clientId],
    ['BILLSYNC_CLIENT_SECRET', service.clientSecret],
    ['BILLSYNC_API_KEY', service.apiKey],
    ...basic('BILLSYNC_WEBHOOK_BASIC_AUTH', webhook.credentials),
    ...webhook.credentials.headers.map(({ value }) => ['BILLSYNC_WEBHOOK_HEADERS', value] as const),
    ...webhook.paths.flatMap(({ path, credentials }) => basic(`webhook_paths ${path}`, credentials)),
  ];
  return texts.flatMap(([setting, text]) => {
    const what = text === null ? null : suspicionOf(text);
    return what === null ? [] : [{ setting, what }];
  });
}

/** null: nothing strikes. The first that strikes, since one mistake leaves several. */
function suspicionOf(text: string): string | null {
  if (/[\0\uFFFD]/.test(text)) return 'contains NUL or characters that are not UTF-8: its file may be UTF-16';
  if (text.startsWith('\uFEFF')) return 'begins with a byte order mark (U+FEFF)';
  if (/[\r\n]/.test(text)) return 'contains a carriage return or a line feed';
  if (/^\s/.test(text)) return 'begins with a blank';
  if (/\s$/.test(text)) return 'ends with a blank';
  const quote = /^(["'`\u2018\u201C]).+["'`\u2019\u201D]$/.exec(text)?.[1];
  if (quote !== undefined) return `begins and ends with a quotation mark (${quote})`;
  if (/[\p{Cc}\p{Cf}\u00A0]/u.test(text)) return 'contains a character that is not shown';
  return null;
}
