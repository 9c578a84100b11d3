import * as values from './setting-values.ts';

type Reader<Value> = (text: string, folder: string) => Value;

export interface SettingDefinition<Value = unknown> {
  readonly variable: string;
  readonly fileKey: string;
  /** A secret is printed masked, and may also come as `VARIABLE_FILE`. */
  readonly secret: boolean;
  readonly default: string | null;
  readonly defaultNote?: string;
  readonly meaning: string;
  readonly read: Reader<Value>;
  readonly unset: Value;
}

export interface SettingTable {
  readonly [name: string]: SettingDefinition | SettingTable;
}

export type SettingValues<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends SettingDefinition<infer Value>
    ? Value
    : SettingValues<Table[Name]>;
};

type More = Partial<Pick<SettingDefinition, 'secret' | 'defaultNote'>>;

function define<Value>(
  variable: string,
  read: Reader<Value>,
  meaning: string,
  rest: More & Pick<SettingDefinition<Value>, 'default' | 'unset'>,
): SettingDefinition<Value> {
  const fileKey = variable.replace(/^BILLSYNC_/, '').toLowerCase();
  return { variable, fileKey, secret: false, meaning, read, ...rest };
}

function required<Value>(variable: string, text: string, read: Reader<Value>, meaning: string) {
  return define(variable, read, meaning, { default: text, unset: undefined as Value });
}

function optional<Value>(variable: string, read: Reader<Value>, meaning: string, more: More = {}) {
  return define<Value | null>(variable, read, meaning, { default: null, unset: null, ...more });
}

function list<Item>(variable: string, read: Reader<readonly Item[]>, meaning: string, more: More = {}) {
  return define<readonly Item[]>(variable, read, meaning, { default: null, unset: [], ...more });
}

const { readText, readPath } = values;
const SECRET = { secret: true };
const SELF_SIGNED = { defaultNote: 'self-signed in the data folder' };

const WHERE = {
  dataDir: required('BILLSYNC_DATA_DIR', './data', readPath, 'folder of all data of billsync'),
  environment: required(
    'BILLSYNC_ENVIRONMENT',
    'test',
    values.readEnvironment,
    '`test` or `production`; the two never mix',
  ),
};

const SERVICE = {
  service: {
    baseUrl: optional('BILLSYNC_BASE_URL', values.readHttpsUrl, 'address of the billing service, https only'),
    authUrl: optional('BILLSYNC_AUTH_URL', values.readHttpsUrl, 'address for tokens, https only'),
    clientId: optional('BILLSYNC_CLIENT_ID', values.readClientId, 'OAuth client id'),
    clientSecret: optional('BILLSYNC_CLIENT_SECRET', readText, 'OAuth client secret', SECRET),
    apiKey: optional('BILLSYNC_API_KEY', readText, 'instead of OAuth', SECRET),
    apiKeyHeader: required(
      'BILLSYNC_API_KEY_HEADER',
      'x-api-key',
      values.readHeaderName,
      'the header that carries the API key',
    ),
    caFile: optional(
      'BILLSYNC_CA_FILE',
      readPath,
      'further CA to trust when calling the service and its storage',
    ),
    /** The client certificate is never sent to the storage. */
    clientCert: optional(
      'BILLSYNC_CLIENT_CERT',
      readPath,
      'client certificate (PEM), sent to the service when it requests one',
    ),
    clientKey: optional('BILLSYNC_CLIENT_KEY', readPath, 'key file of that certificate'),
    downloadHosts: list(
      'BILLSYNC_DOWNLOAD_HOSTS',
      values.readHosts,
      'hosts (exact or `.suffix`, optional port) whose presigned URLs may be used straight from a webhook; a port names the only one besides 443, a path the bucket (`host/bucket/`), which storage with shared hosts needs',
    ),
    allowPrivateHosts: required(
      'BILLSYNC_ALLOW_PRIVATE_HOSTS',
      'false',
      values.readBoolean,
      'let calls and downloads reach loopback and private addresses (sandbox, tests)',
    ),
    httpsProxy: optional(
      'HTTPS_PROXY',
      values.readSecretUrl,
      'proxy for calls to the service and its storage, e.g. `http://proxy:3128`',
      SECRET,
    ),
    httpProxy: optional('HTTP_PROXY', values.readSecretUrl, 'the same where HTTPS_PROXY is not set', SECRET),
    noProxy: optional(
      'NO_PROXY',
      readText,
      'hosts that are called without the proxy, comma-separated; this machine always is',
    ),
  },
  partnerId: optional('BILLSYNC_PARTNER_ID', readText, 'deliveries for another partner are quarantined', {
    defaultNote: 'learned from the token',
  }),
  wirePrefix: required(
    'BILLSYNC_WIRE_PREFIX',
    'auto',
    values.readWirePrefix,
    "maker's prefix of the two id fields; `auto` takes any",
  ),
};

const WEBHOOK = {
  webhook: {
    host: required('BILLSYNC_WEBHOOK_HOST', '0.0.0.0', readText, 'address the endpoint listens on'),
    port: required('BILLSYNC_WEBHOOK_PORT', '8443', values.readPort, 'port the endpoint listens on'),
    path: required(
      'BILLSYNC_WEBHOOK_PATH',
      '/webhooks/billing',
      values.readUrlPath,
      'path of the endpoint; paths below it too',
    ),
    tls: required(
      'BILLSYNC_WEBHOOK_TLS',
      'on',
      values.readBoolean,
      '`off` only behind a proxy that ends TLS',
    ),
    tlsCert: optional(
      'BILLSYNC_WEBHOOK_TLS_CERT',
      readPath,
      'certificate file, reloaded when it changes',
      SELF_SIGNED,
    ),
    tlsKey: optional('BILLSYNC_WEBHOOK_TLS_KEY', readPath, 'key file of that certificate', SELF_SIGNED),
    credentials: {
      basicAuth: list(
        'BILLSYNC_WEBHOOK_BASIC_AUTH',
        values.readBasicAuth,
        '`user:password`; during a rotation two, one a line (or with a comma, of the same user)',
        SECRET,
      ),
      headers: list(
        'BILLSYNC_WEBHOOK_HEADERS',
        values.readHeaders,
        '`Name: value` lines, each required',
        SECRET,
      ),
    },
    open: required(
      'BILLSYNC_WEBHOOK_OPEN',
      'false',
      values.readBoolean,
      'let an endpoint without credentials listen on other interfaces than loopback; any sender could then void invoices',
    ),
    connectionLimits: {
      connections: required(
        'BILLSYNC_WEBHOOK_CONNECTIONS',
        '1024',
        values.readCount,
        'maximum number of connections to the endpoint',
      ),
      connectionsPerAddress: required(
        'BILLSYNC_WEBHOOK_CONNECTIONS_PER_ADDRESS',
        '512',
        values.readCount,
        'maximum number of them from one address without valid credentials',
      ),
    },
    trustedProxies: list(
      'BILLSYNC_WEBHOOK_TRUSTED_PROXIES',
      values.readNetworks,
      'addresses or networks of proxies in front of the endpoint, e.g. `10.0.0.0/8`; their X-Forwarded-For is trusted',
    ),
  },
};

const ADMIN = {
  admin: {
    host: required(
      'BILLSYNC_ADMIN_HOST',
      '127.0.0.1',
      readText,
      'address of health, metrics and the dashboard',
    ),
    port: required(
      'BILLSYNC_ADMIN_PORT',
      '9090',
      values.readPort,
      'port of health, metrics and the dashboard',
    ),
    pageTimeout: required(
      'BILLSYNC_PAGE_TIMEOUT',
      '20s',
      values.readDuration,
      'how long the dashboard may work at one page; a report that takes longer is stopped',
    ),
    basicAuth: optional(
      'BILLSYNC_ADMIN_BASIC_AUTH',
      values.readOneBasicAuth,
      '`user:password`; needed when the host is not loopback',
      SECRET,
    ),
    operators: list(
      'BILLSYNC_OPERATOR_BASIC_AUTH',
      values.readBasicAuth,
      '`user:password` of users who may act from the dashboard, one per line; unset: none',
      SECRET,
    ),
    temporalUi: optional(
      'BILLSYNC_TEMPORAL_UI',
      values.readHttpUrl,
      "Temporal's web pages, e.g. `http://temporal-ui:8080/namespaces/default`; the dashboard links an invoice's workflow, and lets only these pages of other sites request payloads in clear",
    ),
  },
};

const TIME = {
  overdueAfter: required(
    'BILLSYNC_OVERDUE_AFTER',
    '1h,6h,24h',
    values.readDurations,
    'when an invoice that was created but not finalized is requested from the service; the last repeats',
  ),
  reconcileEvery: required(
    'BILLSYNC_RECONCILE_EVERY',
    '1h',
    values.readInterval,
    'interval of the reconciliation schedule',
  ),
  recheckLoadedDays: required(
    'BILLSYNC_RECHECK_LOADED',
    '60d',
    values.readDays,
    'for how long after the invoice date loaded invoices are checked for a missed void',
  ),
  confirmVoids: required(
    'BILLSYNC_CONFIRM_VOIDS',
    'true',
    values.readBoolean,
    'whether a void that only an event reports is confirmed with the service',
  ),
};

const STORAGE = {
  /** The first key encrypts; every key of the list decrypts. */
  encryptionKeys: list(
    'BILLSYNC_ENCRYPTION_KEY',
    values.readEncryptionKeys,
    'AES-256-GCM key of payloads in Temporal, `id:base64`',
    { ...SECRET, defaultNote: 'generated in the data folder for embedded Temporal; required otherwise' },
  ),
  warehouse: optional('BILLSYNC_WAREHOUSE', values.readWarehouse, '`duckdb:PATH` or `ducklake:postgres:…`', {
    ...SECRET,
    defaultNote: 'duckdb:$BILLSYNC_DATA_DIR/warehouse.duckdb',
  }),
  lakeData: optional(
    'BILLSYNC_LAKE_DATA',
    values.readPathOrUrl,
    'folder or `s3://…` of a DuckLake warehouse',
  ),
  warehouseMemoryLimit: optional(
    'BILLSYNC_WAREHOUSE_MEMORY_LIMIT',
    values.readMemoryLimit,
    'memory limit of DuckDB, e.g. `1GB`',
    { defaultNote: "DuckDB's own" },
  ),
  publishMegabytes: required(
    'BILLSYNC_PUBLISH_MEGABYTES',
    '20',
    values.readCount,
    'megabytes a second that copies of the warehouse for readers may write on average',
  ),
  csvTolerate: list(
    'BILLSYNC_CSV_TOLERATE',
    values.readTolerances,
    'accepted deviations from the specified CSV: `line-ends`, `column-order`, `added-columns`, `decimals`',
    { defaultNote: 'none' },
  ),
  archive: optional('BILLSYNC_ARCHIVE', values.readArchive, 'folder or `s3://bucket/prefix`', {
    defaultNote: '$BILLSYNC_DATA_DIR/archive',
  }),
};

const ALERTS = {
  alerts: {
    file: optional('BILLSYNC_ALERT_FILE', readPath, 'file to which alerts are appended as JSON lines'),
    webhookUrl: optional(
      'BILLSYNC_ALERT_WEBHOOK_URL',
      values.readSecretUrl,
      'webhook for alerts: Slack, Microsoft Teams, or any chat that accepts {"text": …}',
      SECRET,
    ),
    quietWindow: required(
      'BILLSYNC_ALERT_QUIET_WINDOW',
      '1h',
      values.readDuration,
      'time within which the same alert is not repeated',
    ),
    runbookUrl: optional(
      'BILLSYNC_RUNBOOK_URL',
      values.readHttpUrl,
      'address of the runbook, such as `https://admin.example/runbook`; alerts link to their heading there',
      { defaultNote: 'alerts name the command that prints it' },
    ),
    dashboardUrl: optional(
      'BILLSYNC_DASHBOARD_URL',
      values.readHttpUrl,
      'address of the dashboard, such as `https://admin.example`; cost alerts link to the page that shows the finding',
      { defaultNote: 'cost alerts name the command that prints it' },
    ),
  },
};

const LOG = {
  log: {
    level: required('LOG_LEVEL', 'info', values.readLogLevel, 'trace, debug, info, warn, error or silent'),
    format: optional('LOG_FORMAT', values.readLogFormat, '`pretty` or `json`', {
      defaultNote: 'pretty on a terminal, json elsewhere',
    }),
  },
  otlpEndpoint: optional(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    values.readHttpUrl,
    'address for traces; enables tracing',
  ),
};

export const SETTINGS = {
  ...WHERE,
  ...SERVICE,
  ...WEBHOOK,
  ...ADMIN,
  ...TIME,
  ...STORAGE,
  ...ALERTS,
  ...LOG,
};

function definitionsIn(table: SettingTable): readonly SettingDefinition[] {
  return Object.values(table).flatMap((entry) => (isDefinition(entry) ? [entry] : definitionsIn(entry)));
}

export function isDefinition(entry: SettingDefinition | SettingTable): entry is SettingDefinition {
  return typeof entry.variable === 'string';
}

export const SETTING_GROUPS: readonly {
  readonly title: string;
  readonly definitions: readonly SettingDefinition[];
}[] = [
  { title: 'Where and for whom', definitions: definitionsIn(WHERE) },
  { title: 'The billing service', definitions: definitionsIn(SERVICE) },
  { title: 'The webhook endpoint', definitions: definitionsIn(WEBHOOK) },
  { title: 'Health, metrics, dashboard', definitions: definitionsIn(ADMIN) },
  { title: 'Intervals', definitions: definitionsIn(TIME) },
  { title: 'Storage and encryption', definitions: definitionsIn(STORAGE) },
  { title: 'Alerts', definitions: definitionsIn(ALERTS) },
  { title: 'Logs and traces', definitions: definitionsIn(LOG) },
];

export const SETTING_DEFINITIONS = SETTING_GROUPS.flatMap(({ definitions }) => definitions);

export const COMPANION_VARIABLES = ['BILLSYNC_CONFIG'] as const;

export function settingsFileTemplate(given: ReadonlyMap<string, string>): string {
  const lines = [
    '# Settings of billsync. Precedence: flags, environment variables, this file, defaults.',
    '# Every secret may be in a file of its own (key_file: path); then this file contains none.',
    '# `billsync config show` shows the effective settings and the source of each.',
  ];
  for (const { title, definitions } of SETTING_GROUPS) {
    lines.push('', `# ${title}`);
    for (const definition of definitions) {
      const { meaning, defaultNote } = definition;
      const note = defaultNote === undefined ? '' : ` (when unset: ${defaultNote})`;
      lines.push(`# ${meaning}${note}`, settingLine(definition, given));
    }
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
  const { variable, fileKey, secret } = definition;
  if (secret) return `# ${fileKey}_file: secrets/${fileKey.replaceAll('_', '-')}`;
  const value = given.get(variable);
  if (value !== undefined) return `${fileKey}: ${JSON.stringify(value)}`;
  return `# ${fileKey}: ${definition.default ?? ''}`.trimEnd();
}
