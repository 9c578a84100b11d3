/** Builds the effective settings from flags, environment, file and defaults, or reports every problem at once. */

import { join, resolve } from 'node:path';
import {
  findSettingsFile,
  findText,
  readSettingsFile,
  type Search,
  type SettingOrigin,
  type SettingsFile,
  type SettingsSources,
  unknownVariables,
} from './find-setting.ts';
import { SETTING_DEFINITIONS } from './setting-definitions.ts';
import * as values from './setting-values.ts';
import { type Settings, SettingsError, type SettingsProblem } from './settings.ts';

export interface EffectiveSettings {
  readonly settings: Settings;
  readonly origins: readonly SettingOrigin[];
  readonly file: string | null;
}

/** @throws SettingsError with every problem there is */
export function loadSettings(sources: SettingsSources): Settings {
  return loadEffectiveSettings(sources).settings;
}

/** The settings and where each came from, for `config show`. @throws SettingsError */
export function loadEffectiveSettings(sources: SettingsSources): EffectiveSettings {
  const problems: SettingsProblem[] = [];
  const named = sources.flags?.BILLSYNC_CONFIG ?? (sources.env.BILLSYNC_CONFIG || undefined);
  const path = findSettingsFile({ named, cwd: sources.cwd });
  const file = path === null ? null : readSettingsFile(path, problems);
  problems.push(...unknownVariables(sources.env));
  const origins = SETTING_DEFINITIONS.map((definition) => findText(definition, { sources, file, problems }));
  const settings = buildSettings({ origins, file, sources, problems });
  if (settings === null || problems.length > 0) throw new SettingsError(problems);
  return { settings, origins, file: path };
}

interface Building extends Search {
  readonly origins: readonly SettingOrigin[];
}

type Reader<T> = (text: string, folder: string) => T;

/** The texts of settings, read into values. */
interface Texts {
  /** null when the setting is unset, or invalid: that adds a problem. */
  read<T>(variable: string, reader: Reader<T>): T | null;
  /** For settings with a default. The fallback is returned only for an invalid value, and then no settings are built. */
  must<T>(variable: string, fallback: T, reader: Reader<T>): T;
  text(variable: string): string | null;
  path(variable: string): string | null;
}

function textsOf(origins: readonly SettingOrigin[], problems: SettingsProblem[]): Texts {
  const byVariable = new Map(origins.map((origin) => [origin.definition.variable, origin]));
  const read = <T>(variable: string, reader: Reader<T>): T | null => {
    const origin = byVariable.get(variable);
    if (origin?.text === undefined || origin.text === null) return null;
    try {
      return reader(origin.text, origin.folder);
    } catch (error) {
      const where = origin.origin === 'file' ? ` in ${origin.from}` : '';
      problems.push({ setting: `${variable}${where}`, message: (error as Error).message });
      return null;
    }
  };
  return {
    read,
    must: (variable, fallback, reader) => read(variable, reader) ?? fallback,
    text: (variable) => read(variable, (value) => value),
    path: (variable) => read(variable, (value, folder) => resolve(folder, value)),
  };
}

/** null when anything is wrong; `problems` has what. */
export function buildSettings({ origins, file, sources, problems }: Building): Settings | null {
  const before = problems.length;
  const texts = textsOf(origins, problems);
  const { read, must, text, path } = texts;
  const settings: Settings = {
    ...storage(texts, path('BILLSYNC_DATA_DIR') ?? resolve(sources.cwd, 'data')),
    environment: must('BILLSYNC_ENVIRONMENT', 'test', values.readEnvironment),
    service: service(texts),
    partnerId: text('BILLSYNC_PARTNER_ID'),
    wirePrefix: must('BILLSYNC_WIRE_PREFIX', 'auto', values.readWirePrefix),
    webhook: { ...webhook(texts), paths: webhookPaths(file, problems) },
    admin: {
      pageTimeout: must('BILLSYNC_PAGE_TIMEOUT', '20s', values.readDuration),
      host: text('BILLSYNC_ADMIN_HOST') ?? '127.0.0.1',
      port: must('BILLSYNC_ADMIN_PORT', 0, values.readPort),
      basicAuth: read('BILLSYNC_ADMIN_BASIC_AUTH', values.readOneBasicAuth),
      operators: must('BILLSYNC_OPERATOR_BASIC_AUTH', [], values.readBasicAuth),
      temporalUi: read('BILLSYNC_TEMPORAL_UI', values.readHttpUrl),
    },
    overdueAfter: must('BILLSYNC_OVERDUE_AFTER', [], values.readDurations),
    reconcileEvery: must('BILLSYNC_RECONCILE_EVERY', '1h', values.readInterval),
    confirmVoids: must('BILLSYNC_CONFIRM_VOIDS', true, values.readBoolean),
    recheckLoadedDays: must('BILLSYNC_RECHECK_LOADED', 60, values.readDays),
    temporalConfigured: isTemporalConfigured(sources.env),
    alerts: {
      file: path('BILLSYNC_ALERT_FILE'),
      webhookUrl: read('BILLSYNC_ALERT_WEBHOOK_URL', values.readSecretUrl),
      quietWindow: must('BILLSYNC_ALERT_QUIET_WINDOW', '1h', values.readDuration),
      runbookUrl: read('BILLSYNC_RUNBOOK_URL', values.readHttpUrl),
      dashboardUrl: read('BILLSYNC_DASHBOARD_URL', values.readHttpUrl),
    },
    log: {
      level: must('LOG_LEVEL', 'info', (value) => values.oneOf(value, values.LOG_LEVELS)),
      format:
        read('LOG_FORMAT', (value) => values.oneOf(value, ['pretty', 'json'] as const)) ??
        (sources.terminal === true ? 'pretty' : 'json'),
    },
    otlpEndpoint: read('OTEL_EXPORTER_OTLP_ENDPOINT', values.readHttpUrl),
  };
  problems.push(...contradictions(settings));
  return problems.length > before ? null : settings;
}

function service({ read, must, text, path }: Texts): Settings['service'] {
  return {
    baseUrl: read('BILLSYNC_BASE_URL', values.readHttpsUrl),
    authUrl: read('BILLSYNC_AUTH_URL', values.readHttpsUrl),
    clientId: read('BILLSYNC_CLIENT_ID', values.readClientId),
    clientSecret: text('BILLSYNC_CLIENT_SECRET'),
    apiKey: text('BILLSYNC_API_KEY'),
    apiKeyHeader: must('BILLSYNC_API_KEY_HEADER', 'x-api-key', values.readHeaderName),
    caFile: path('BILLSYNC_CA_FILE'),
    clientCert: path('BILLSYNC_CLIENT_CERT'),
    clientKey: path('BILLSYNC_CLIENT_KEY'),
    httpsProxy: read('HTTPS_PROXY', values.readSecretUrl),
    httpProxy: read('HTTP_PROXY', values.readSecretUrl),
    noProxy: text('NO_PROXY'),
    downloadHosts: must('BILLSYNC_DOWNLOAD_HOSTS', [], values.readHosts),
    allowPrivateHosts: must('BILLSYNC_ALLOW_PRIVATE_HOSTS', false, values.readBoolean),
  };
}

function webhook({ must, text, path }: Texts): Omit<Settings['webhook'], 'paths'> {
  return {
    host: text('BILLSYNC_WEBHOOK_HOST') ?? '0.0.0.0',
    port: must('BILLSYNC_WEBHOOK_PORT', 0, values.readPort),
    path: must('BILLSYNC_WEBHOOK_PATH', '/', values.readUrlPath),
    tls: must('BILLSYNC_WEBHOOK_TLS', true, values.readBoolean),
    tlsCert: path('BILLSYNC_WEBHOOK_TLS_CERT'),
    tlsKey: path('BILLSYNC_WEBHOOK_TLS_KEY'),
    credentials: {
      basicAuth: must('BILLSYNC_WEBHOOK_BASIC_AUTH', [], values.readBasicAuth),
      headers: must('BILLSYNC_WEBHOOK_HEADERS', [], values.readHeaders),
    },
    open: must('BILLSYNC_WEBHOOK_OPEN', false, values.readBoolean),
    connectionLimits: {
      connections: must('BILLSYNC_WEBHOOK_CONNECTIONS', 1, values.readCount),
      connectionsPerAddress: must('BILLSYNC_WEBHOOK_CONNECTIONS_PER_ADDRESS', 1, values.readCount),
    },
    trustedProxies: must('BILLSYNC_WEBHOOK_TRUSTED_PROXIES', [], values.readNetworks),
  };
}

type Storage =
  | 'dataDir'
  | 'encryptionKeys'
  | 'warehouse'
  | 'warehouseMemoryLimit'
  | 'csvTolerate'
  | 'archive';

function storage({ read, must }: Texts, dataDir: string): Pick<Settings, Storage> {
  const lakeData = read('BILLSYNC_LAKE_DATA', (value, folder) =>
    value.includes('://') ? value : resolve(folder, value),
  );
  return {
    dataDir,
    encryptionKeys: must('BILLSYNC_ENCRYPTION_KEY', [], values.readEncryptionKeys),
    warehouse: must(
      'BILLSYNC_WAREHOUSE',
      { kind: 'duckdb', path: join(dataDir, 'warehouse.duckdb') },
      (value, folder) => values.readWarehouse(value, { cwd: folder, lakeData }),
    ),
    warehouseMemoryLimit: read('BILLSYNC_WAREHOUSE_MEMORY_LIMIT', values.readMemoryLimit),
    csvTolerate: must('BILLSYNC_CSV_TOLERATE', [], values.readTolerances),
    archive: must('BILLSYNC_ARCHIVE', { kind: 'folder', path: join(dataDir, 'archive') }, values.readArchive),
  };
}

/** TEMPORAL_ADDRESS, or a profile or file of Temporal's own, means: do not start an embedded server. */
function isTemporalConfigured(env: Search['sources']['env']): boolean {
  return ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'].some((variable) =>
    Boolean(env[variable]),
  );
}

function webhookPaths(file: SettingsFile | null, problems: SettingsProblem[]): Settings['webhook']['paths'] {
  return (file?.webhookPaths ?? []).flatMap(({ path, basicAuth, headers }) => {
    try {
      const required = {
        basicAuth: values.readBasicAuth(basicAuth),
        headers: values.readHeaders(headers),
      };
      return [{ path, credentials: required }];
    } catch (error) {
      problems.push({ setting: `webhook_paths ${path}`, message: (error as Error).message });
      return [];
    }
  });
}

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
      message: 'is needed with an API key: there is no token that names the partner',
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
      message: 'has the password of BILLSYNC_ADMIN_BASIC_AUTH: a reader could then act as an operator',
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
    // DuckDB writes the log of such a database beside the part of its path before the question mark.
    if (path?.includes('?') === true) {
      problems.push({
        setting,
        message: `is ${path}: DuckDB cannot use a path with "?"; name another path`,
      });
    }
  }
  return problems;
}
