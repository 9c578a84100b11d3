/** Makes the settings' values from their texts. What is wrong is noted, and the building goes on, so that all of it is. */

import { join, resolve } from 'node:path';
import { contradictions } from './check-settings.ts';
import * as credentials from './credential-values.ts';
import type { Search, SettingOrigin } from './find-setting.ts';
import * as values from './setting-values.ts';
import type { Settings } from './settings.ts';
import type { SettingsProblem } from './settings-error.ts';
import type { SettingsFile } from './settings-file.ts';

interface Building extends Search {
  readonly origins: readonly SettingOrigin[];
}

type Reader<T> = (text: string, folder: string) => T;

/** The texts of settings, read into values. */
interface Texts {
  /** null when the setting is unset or wrong; a wrong one is noted. */
  read<T>(variable: string, reader: Reader<T>): T | null;
  /** For settings with a default: only a noted problem makes the fallback appear, and then nothing is returned. */
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
      basicAuth: read('BILLSYNC_ADMIN_BASIC_AUTH', credentials.readOneBasicAuth),
      operators: must('BILLSYNC_OPERATOR_BASIC_AUTH', [], credentials.readBasicAuth),
      temporalUi: read('BILLSYNC_TEMPORAL_UI', values.readHttpUrl),
    },
    overdueAfter: must('BILLSYNC_OVERDUE_AFTER', [], values.readDurations),
    reconcileEvery: must('BILLSYNC_RECONCILE_EVERY', '1h', values.readInterval),
    confirmVoids: must('BILLSYNC_CONFIRM_VOIDS', true, values.readBoolean),
    recheckLoadedDays: must('BILLSYNC_RECHECK_LOADED', 60, values.readDays),
    temporalConfigured: isTemporalConfigured(sources.env),
    alerts: {
      file: path('BILLSYNC_ALERT_FILE'),
      webhookUrl: read('BILLSYNC_ALERT_WEBHOOK_URL', credentials.readSecretUrl),
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
    httpsProxy: read('HTTPS_PROXY', credentials.readSecretUrl),
    httpProxy: read('HTTP_PROXY', credentials.readSecretUrl),
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
      basicAuth: must('BILLSYNC_WEBHOOK_BASIC_AUTH', [], credentials.readBasicAuth),
      headers: must('BILLSYNC_WEBHOOK_HEADERS', [], credentials.readHeaders),
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
    encryptionKeys: must('BILLSYNC_ENCRYPTION_KEY', [], credentials.readEncryptionKeys),
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
        basicAuth: credentials.readBasicAuth(basicAuth),
        headers: credentials.readHeaders(headers),
      };
      return [{ path, credentials: required }];
    } catch (error) {
      problems.push({ setting: `webhook_paths ${path}`, message: (error as Error).message });
      return [];
    }
  });
}
