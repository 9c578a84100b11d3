import { BillsyncError, EXIT } from '../errors.ts';
import type { SETTINGS, SettingValues } from './setting-definitions.ts';
import type { WebhookCredentials, WebhookPath } from './setting-values.ts';

export type { WebhookCredentials } from './setting-values.ts';

type Values = SettingValues<typeof SETTINGS>;

export interface Settings extends Omit<Values, 'webhook' | 'warehouse' | 'lakeData' | 'archive' | 'log'> {
  readonly webhook: Values['webhook'] & {
    readonly paths: readonly WebhookPath[];
  };
  readonly warehouse:
    | { readonly kind: 'duckdb'; readonly path: string }
    | { readonly kind: 'ducklake'; readonly catalog: string; readonly dataPath: string };
  readonly archive: NonNullable<Values['archive']>;
  /** False means the embedded server, because neither TEMPORAL_ADDRESS nor a profile is set. */
  readonly temporalConfigured: boolean;
  /**
   * True when a flag or the environment names the admin port, so that it is this process's own; a file is read by several roles.
   */
  readonly isAdminPortOwn: boolean;
  readonly log: { readonly level: string; readonly format: 'pretty' | 'json' };
}

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
  readonly setting: string;
  /** The message never contains the value of a secret. */
  readonly message: string;
}

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

export function suspiciousSecrets({ service, webhook }: Pick<Settings, 'service' | 'webhook'>) {
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

function suspicionOf(text: string): string | null {
  if (/[\0\uFFFD]/.test(text)) return 'contains NUL or characters that are not UTF-8: its file may be UTF-16';
  if (text.startsWith('\uFEFF')) return 'begins with a byte order mark (U+FEFF)';
  if (/[\r\n]/.test(text)) return 'contains a carriage return or a line feed';
  if (/^\s/.test(text)) return 'begins with a blank';
  if (/\s$/.test(text)) return 'ends with a blank';
  const quote = /^(["'`\u2018\u201C]).+["'`\u2019\u201D]$/.exec(text)?.[1];
  if (quote !== undefined) return `begins and ends with a quotation mark (${quote})`;
  if (/[\p{Cc}\p{Cf}\u00A0]/u.test(text)) return 'contains an invisible character';
  return null;
}
