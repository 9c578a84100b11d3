/** What several settings together must say, each being fine by itself. */

import { join } from 'node:path';
import type { Settings } from './settings.ts';
import { NOT_SET, SettingsError, type SettingsProblem } from './settings-error.ts';

/** Settings that are each fine and cannot be true together. */
export function contradictions({
  service,
  partnerId,
  webhook,
  admin,
  dataDir,
  warehouse,
}: Settings): SettingsProblem[] {
  const problems: SettingsProblem[] = [];
  if (service.apiKey !== null && service.clientSecret !== null) {
    problems.push({
      setting: 'BILLSYNC_API_KEY',
      message: 'and BILLSYNC_CLIENT_SECRET are both set: keep one',
    });
  }
  if (service.apiKey !== null && partnerId === null) {
    problems.push({
      setting: 'BILLSYNC_PARTNER_ID',
      message: 'is needed with an API key: there is no token to learn the partner from',
    });
  }
  if ((webhook.tlsCert === null) !== (webhook.tlsKey === null)) {
    const missing = webhook.tlsCert === null ? 'BILLSYNC_WEBHOOK_TLS_CERT' : 'BILLSYNC_WEBHOOK_TLS_KEY';
    problems.push({ setting: missing, message: 'is missing: certificate and key come together' });
  }
  const { operators = [], basicAuth: reader } = admin;
  if (operators.some(({ password }) => password === reader?.password)) {
    problems.push({
      setting: 'BILLSYNC_OPERATOR_BASIC_AUTH',
      message: 'has the password of BILLSYNC_ADMIN_BASIC_AUTH: whoever may look could act',
    });
  }
  const file =
    warehouse.kind === 'duckdb' && warehouse.path !== join(dataDir, 'warehouse.duckdb')
      ? warehouse.path
      : null;
  for (const [setting, path] of [
    ['BILLSYNC_DATA_DIR', dataDir],
    ['BILLSYNC_WAREHOUSE', file],
  ] as const) {
    // DuckDB writes the log of such a database beside the part before the question mark.
    if (path?.includes('?') === true) {
      problems.push({
        setting,
        message: `is ${path}: DuckDB cannot keep a database below a path with "?"; name one without it`,
      });
    }
  }
  return problems;
}

/** What a command that calls the billing service still needs; commands that do not call it need none of this. */
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
