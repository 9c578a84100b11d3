/**
 * Secrets with characters that editors, shells and `docker --env-file` leave in them. They may be meant, so nothing is
 * refused for them; a service that refuses the credentials does not say why.
 */

import type { Settings, WebhookCredentials } from './settings.ts';

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
