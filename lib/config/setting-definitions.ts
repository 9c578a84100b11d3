/** Every setting there is: its variable, its key in the settings file, its default and its meaning. Names never change. */

export interface SettingDefinition {
  /** Name of the environment variable; the settings file uses `fileKey`. */
  readonly variable: string;
  /** Lower-case key in the settings file. */
  readonly fileKey: string;
  /** Shown masked everywhere; may also come as `VARIABLE_FILE`. */
  readonly secret: boolean;
  /** Default text; null when there is none. */
  readonly default: string | null;
  /** Shown where there is no default text. */
  readonly defaultNote?: string;
  readonly meaning: string;
  readonly group: 'where' | 'service' | 'webhook' | 'admin' | 'time' | 'storage' | 'alerts' | 'log';
}

export const SETTING_DEFINITIONS: readonly SettingDefinition[] = [
  define('BILLSYNC_DATA_DIR', 'where', './data', 'folder of all data of billsync'),
  define('BILLSYNC_ENVIRONMENT', 'where', 'test', '`test` or `production`; the two never mix'),

  define('BILLSYNC_BASE_URL', 'service', null, 'address of the billing service, https only'),
  define('BILLSYNC_AUTH_URL', 'service', null, 'address for tokens, https only'),
  define('BILLSYNC_CLIENT_ID', 'service', null, 'OAuth client id'),
  secret('BILLSYNC_CLIENT_SECRET', 'service', 'OAuth client secret'),
  secret('BILLSYNC_API_KEY', 'service', 'instead of OAuth'),
  define('BILLSYNC_API_KEY_HEADER', 'service', 'x-api-key', 'the header that carries the API key'),
  {
    ...define('BILLSYNC_PARTNER_ID', 'service', null, 'deliveries for another partner are quarantined'),
    defaultNote: 'learned from the token',
  },
  define('BILLSYNC_WIRE_PREFIX', 'service', 'auto', "maker's prefix of the two id fields; `auto` takes any"),
  define('BILLSYNC_CA_FILE', 'service', null, 'further CA to trust when calling the service and its storage'),
  define(
    'BILLSYNC_CLIENT_CERT',
    'service',
    null,
    'client certificate (PEM), sent to the service when it requests one',
  ),
  define('BILLSYNC_CLIENT_KEY', 'service', null, 'key file of that certificate'),
  define(
    'BILLSYNC_DOWNLOAD_HOSTS',
    'service',
    null,
    'hosts (exact or `.suffix`, optional port) whose presigned URLs may be used straight from a webhook; a port names the only one besides 443',
  ),
  define(
    'BILLSYNC_ALLOW_PRIVATE_HOSTS',
    'service',
    'false',
    'let calls and downloads reach loopback and private addresses (sandbox, tests)',
  ),

  secret(
    'HTTPS_PROXY',
    'service',
    'proxy for calls to the service and its storage, e.g. `http://proxy:3128`',
  ),
  secret('HTTP_PROXY', 'service', 'the same where HTTPS_PROXY is not set'),
  define(
    'NO_PROXY',
    'service',
    null,
    'hosts that are called without the proxy, comma-separated; this machine always is',
  ),

  define('BILLSYNC_WEBHOOK_HOST', 'webhook', '0.0.0.0', 'address the endpoint listens on'),
  define('BILLSYNC_WEBHOOK_PORT', 'webhook', '8443', 'port the endpoint listens on'),
  define('BILLSYNC_WEBHOOK_PATH', 'webhook', '/webhooks/billing', 'path of the endpoint; paths below it too'),
  define('BILLSYNC_WEBHOOK_TLS', 'webhook', 'on', '`off` only behind a proxy that ends TLS'),
  {
    ...define('BILLSYNC_WEBHOOK_TLS_CERT', 'webhook', null, 'certificate file, reloaded when it changes'),
    defaultNote: 'self-signed in the data folder',
  },
  {
    ...define('BILLSYNC_WEBHOOK_TLS_KEY', 'webhook', null, 'key file of that certificate'),
    defaultNote: 'self-signed in the data folder',
  },
  secret(
    'BILLSYNC_WEBHOOK_BASIC_AUTH',
    'webhook',
    '`user:password`; during a rotation two, one a line (or with a comma, of the same user)',
  ),
  secret('BILLSYNC_WEBHOOK_HEADERS', 'webhook', '`Name: value` lines, each required'),
  define(
    'BILLSYNC_WEBHOOK_OPEN',
    'webhook',
    'false',
    'let an endpoint without credentials listen on other interfaces than loopback; any sender could then void invoices',
  ),
  define('BILLSYNC_WEBHOOK_CONNECTIONS', 'webhook', '1024', 'maximum number of connections to the endpoint'),
  define(
    'BILLSYNC_WEBHOOK_CONNECTIONS_PER_ADDRESS',
    'webhook',
    '512',
    'most of them from one address without valid credentials',
  ),
  define(
    'BILLSYNC_WEBHOOK_TRUSTED_PROXIES',
    'webhook',
    null,
    'addresses or networks of proxies in front of the endpoint, e.g. `10.0.0.0/8`; their X-Forwarded-For is trusted',
  ),

  define('BILLSYNC_ADMIN_HOST', 'admin', '127.0.0.1', 'address of health, metrics and the dashboard'),
  define('BILLSYNC_ADMIN_PORT', 'admin', '9090', 'port of health, metrics and the dashboard'),
  define(
    'BILLSYNC_PAGE_TIMEOUT',
    'admin',
    '20s',
    'how long the dashboard may work at one page; a report that takes longer is stopped',
  ),
  secret('BILLSYNC_ADMIN_BASIC_AUTH', 'admin', '`user:password`; needed when the host is not loopback'),
  secret(
    'BILLSYNC_OPERATOR_BASIC_AUTH',
    'admin',
    '`user:password` of users who may act from the dashboard, one per line; unset: none',
  ),
  define(
    'BILLSYNC_TEMPORAL_UI',
    'admin',
    null,
    "Temporal's web pages, e.g. `http://temporal-ui:8080/namespaces/default`; the dashboard links an invoice's workflow, and lets these pages of other sites alone ask for payloads in clear",
  ),

  define(
    'BILLSYNC_OVERDUE_AFTER',
    'time',
    '1h,6h,24h',
    'when an invoice that was created but not finalized is requested from the service; the last repeats',
  ),
  define('BILLSYNC_RECONCILE_EVERY', 'time', '1h', 'interval of the reconciliation schedule'),
  define(
    'BILLSYNC_RECHECK_LOADED',
    'time',
    '60d',
    'for how long after the invoice date loaded invoices are checked for a missed void',
  ),
  define(
    'BILLSYNC_CONFIRM_VOIDS',
    'time',
    'true',
    'whether a void that only an event reports is confirmed with the service',
  ),

  {
    ...secret('BILLSYNC_ENCRYPTION_KEY', 'storage', 'AES-256-GCM key of payloads in Temporal, `id:base64`'),
    defaultNote: 'generated in the data folder for embedded Temporal; required otherwise',
  },
  {
    ...secret('BILLSYNC_WAREHOUSE', 'storage', '`duckdb:PATH` or `ducklake:postgres:…`'),
    defaultNote: 'duckdb:$BILLSYNC_DATA_DIR/warehouse.duckdb',
  },
  define('BILLSYNC_LAKE_DATA', 'storage', null, 'folder or `s3://…` of a DuckLake warehouse'),
  {
    ...define('BILLSYNC_WAREHOUSE_MEMORY_LIMIT', 'storage', null, 'memory limit of DuckDB, e.g. `1GB`'),
    defaultNote: "DuckDB's own",
  },
  {
    ...define(
      'BILLSYNC_CSV_TOLERATE',
      'storage',
      null,
      'accepted deviations from the specified CSV: `line-ends`, `column-order`, `added-columns`, `decimals`',
    ),
    defaultNote: 'none',
  },
  {
    ...define('BILLSYNC_ARCHIVE', 'storage', null, 'folder or `s3://bucket/prefix`'),
    defaultNote: '$BILLSYNC_DATA_DIR/archive',
  },

  define('BILLSYNC_ALERT_FILE', 'alerts', null, 'file to which alerts are appended as JSON lines'),
  secret(
    'BILLSYNC_ALERT_WEBHOOK_URL',
    'alerts',
    'webhook for alerts: Slack, Microsoft Teams, or any chat that accepts {"text": …}',
  ),
  define('BILLSYNC_ALERT_QUIET_WINDOW', 'alerts', '1h', 'time within which the same alert is not repeated'),
  {
    ...define(
      'BILLSYNC_RUNBOOK_URL',
      'alerts',
      null,
      'address of the runbook, such as `https://admin.example/runbook`; alerts link to their heading there',
    ),
    defaultNote: 'alerts name the command that shows it',
  },
  {
    ...define(
      'BILLSYNC_DASHBOARD_URL',
      'alerts',
      null,
      'address of the dashboard, such as `https://admin.example`; cost alerts link to the page that shows the finding',
    ),
    defaultNote: 'cost alerts name the command that shows it',
  },

  define('LOG_LEVEL', 'log', 'info', 'trace, debug, info, warn, error or silent'),
  {
    ...define('LOG_FORMAT', 'log', null, '`pretty` or `json`'),
    defaultNote: 'pretty on a terminal, json elsewhere',
  },
  define('OTEL_EXPORTER_OTLP_ENDPOINT', 'log', null, 'address for traces; enables tracing'),
];

/** Variables with our prefix that are not settings themselves. */
export const COMPANION_VARIABLES = ['BILLSYNC_CONFIG'] as const;

function define(
  variable: string,
  group: SettingDefinition['group'],
  defaultText: string | null,
  meaning: string,
): SettingDefinition {
  const fileKey = variable.replace(/^BILLSYNC_/, '').toLowerCase();
  return { variable, fileKey, secret: false, default: defaultText, meaning, group };
}

function secret(variable: string, group: SettingDefinition['group'], meaning: string): SettingDefinition {
  return { ...define(variable, group, null, meaning), secret: true };
}

/** A settings file in which everything is explained and nothing secret is invited. */
export function settingsFileTemplate(given: ReadonlyMap<string, string>): string {
  const lines = [
    '# Settings of billsync. Precedence: flags, environment variables, this file, defaults.',
    '# Every secret may be in a file of its own (key_file: path); then this file contains none.',
    '# `billsync config show` shows the effective settings and the source of each.',
  ];
  let group = '';
  for (const definition of SETTING_DEFINITIONS) {
    if (definition.group !== group) lines.push('', `# ${GROUP_TITLES[definition.group]}`);
    group = definition.group;
    lines.push(`# ${definition.meaning}${defaultNote(definition)}`, settingLine(definition, given));
  }
  lines.push(
    '',
    '# Paths below webhook_path with credentials of their own, e.g. one for each event type or tenant:',
    '# webhook_paths:',
    '#   - path: /webhooks/billing/voids',
    '#     basic_auth_file: secrets/voids-basic-auth',
  );
  return `${lines.join('\n')}\n`;
}

function settingLine(definition: SettingDefinition, given: ReadonlyMap<string, string>): string {
  const value = given.get(definition.variable);
  if (value !== undefined && !definition.secret) return `${definition.fileKey}: ${JSON.stringify(value)}`;
  if (definition.secret)
    return `# ${definition.fileKey}_file: secrets/${definition.fileKey.replaceAll('_', '-')}`;
  return `# ${definition.fileKey}: ${definition.default ?? ''}`.trimEnd();
}

function defaultNote(definition: SettingDefinition): string {
  return definition.defaultNote === undefined ? '' : ` (when unset: ${definition.defaultNote})`;
}

const GROUP_TITLES: Readonly<Record<SettingDefinition['group'], string>> = {
  where: 'Where and for whom',
  service: 'The billing service',
  webhook: 'The webhook endpoint',
  admin: 'Health, metrics, dashboard',
  time: 'Patience',
  storage: 'Storage and encryption',
  alerts: 'Alerts',
  log: 'Logs and traces',
};
