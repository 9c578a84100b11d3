/** Makes the effective settings from flags, environment, file and defaults, or says everything that is wrong at once. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { didYouMean } from './did-you-mean.js';
import { COMPANION_VARIABLES, SETTING_DEFINITIONS, type SettingDefinition } from './setting-definitions.js';
import * as values from './setting-values.js';
import type { Settings } from './settings.js';
import { NOT_SET, SettingsError, type SettingsProblem } from './settings-error.js';
import { findSettingsFile, readSettingsFile, type SettingsFile } from './settings-file.js';
import { messageOf, withName } from './system-error.js';

export interface SettingsSources {
  /** By variable name; beats everything. `BILLSYNC_CONFIG` names the file. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether stderr is a terminal: decides the default of LOG_FORMAT. */
  readonly terminal?: boolean;
}

export type Origin = 'flag' | 'environment' | 'file' | 'default';

/** Where one setting's text came from; `text` is null when it is unset, secrets are whole here: mask before showing. */
export interface SettingOrigin {
  readonly definition: SettingDefinition;
  readonly text: string | null;
  readonly origin: Origin;
  /** The variable, flag or path it was read from. */
  readonly from: string;
  /** Relative paths in the text start here. */
  readonly folder: string;
}

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

function unknownVariables(env: SettingsSources['env']): SettingsProblem[] {
  const known = new Set<string>(COMPANION_VARIABLES);
  for (const { variable, secret } of SETTING_DEFINITIONS) {
    known.add(variable);
    if (secret) known.add(`${variable}_FILE`);
  }
  return Object.keys(env)
    .filter((variable) => variable.startsWith('BILLSYNC_') && !known.has(variable))
    .sort()
    .map((variable) => {
      const near = didYouMean(variable, known);
      return {
        setting: variable,
        message: `is not a setting${near === null ? '' : `; did you mean ${near}?`}`,
      };
    });
}

interface Search {
  readonly sources: SettingsSources;
  readonly file: SettingsFile | null;
  readonly problems: SettingsProblem[];
}

function findText(definition: SettingDefinition, { sources, file, problems }: Search): SettingOrigin {
  const { variable } = definition;
  const found = (origin: Origin, text: string | null, from: string, folder = sources.cwd): SettingOrigin => ({
    definition,
    text,
    origin,
    from,
    folder,
  });
  const flag = sources.flags?.[variable];
  if (flag !== undefined && flag !== '') return found('flag', flag, `--setting ${variable}`);
  // An empty variable counts as unset: that is how a shell or a container unsets one.
  const places = [
    {
      origin: 'environment' as const,
      texts: new Map(Object.entries(sources.env)),
      folder: sources.cwd,
      label: '',
    },
    ...(file === null
      ? []
      : [{ origin: 'file' as const, texts: file.texts, folder: file.folder, label: ` in ${file.path}` }]),
  ];
  for (const { origin, texts, folder, label } of places) {
    // Other programs read the variables of a proxy in small letters too, and some set only those.
    const inSmall = variable.endsWith('_PROXY') ? texts.get(variable.toLowerCase()) : undefined;
    const text = texts.get(variable) || inSmall || undefined;
    const secretPath = definition.secret ? texts.get(`${variable}_FILE`) || undefined : undefined;
    if (text !== undefined && secretPath !== undefined) {
      problems.push({ setting: `${variable}${label}`, message: `is given twice: also as ${variable}_FILE` });
    }
    if (text !== undefined)
      return found(origin, text, origin === 'file' ? (file?.path ?? '') : variable, folder);
    if (secretPath !== undefined) {
      return found(
        origin,
        readSecret(definition, resolve(folder, secretPath), problems),
        resolve(folder, secretPath),
      );
    }
  }
  return found('default', definition.default, 'default');
}

function readSecret(definition: SettingDefinition, path: string, problems: SettingsProblem[]): string | null {
  try {
    const text = withName(path, () => readFileSync(path, 'utf8')).replace(/\r?\n$/, '');
    if (text !== '') return text;
    problems.push({ setting: `${definition.variable}_FILE`, message: `${path} is empty` });
  } catch (error) {
    problems.push({ setting: `${definition.variable}_FILE`, message: messageOf(error) });
  }
  return null;
}

interface Building extends Search {
  readonly origins: readonly SettingOrigin[];
}

function buildSettings({ origins, file, sources, problems }: Building): Settings | null {
  const byVariable = new Map(origins.map((origin) => [origin.definition.variable, origin]));
  const before = problems.length;
  /** null when the setting is unset or wrong; a wrong one is noted and the building goes on. */
  const read = <T>(variable: string, reader: (text: string, folder: string) => T): T | null => {
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
  /** For settings with a default: only a noted problem makes the fallback appear, and then nothing is returned. */
  const must = <T>(variable: string, fallback: T, reader: (text: string, folder: string) => T): T =>
    read(variable, reader) ?? fallback;
  const text = (variable: string) => read(variable, (value) => value);
  const path = (variable: string) => read(variable, (value, folder) => resolve(folder, value));

  const dataDir = path('BILLSYNC_DATA_DIR') ?? resolve(sources.cwd, 'data');
  const lakeData = read('BILLSYNC_LAKE_DATA', (value, folder) =>
    value.includes('://') ? value : resolve(folder, value),
  );
  const temporalConfigured = isTemporalConfigured(sources.env);
  const settings: Settings = {
    dataDir,
    environment: must('BILLSYNC_ENVIRONMENT', 'test', values.readEnvironment),
    service: {
      baseUrl: read('BILLSYNC_BASE_URL', values.readHttpsUrl),
      authUrl: read('BILLSYNC_AUTH_URL', values.readHttpsUrl),
      clientId: read('BILLSYNC_CLIENT_ID', values.readClientId),
      clientSecret: text('BILLSYNC_CLIENT_SECRET'),
      apiKey: text('BILLSYNC_API_KEY'),
      apiKeyHeader: must('BILLSYNC_API_KEY_HEADER', 'x-api-key', readHeaderName),
      caFile: path('BILLSYNC_CA_FILE'),
      clientCert: path('BILLSYNC_CLIENT_CERT'),
      clientKey: path('BILLSYNC_CLIENT_KEY'),
      httpsProxy: read('HTTPS_PROXY', readSecretUrl),
      httpProxy: read('HTTP_PROXY', readSecretUrl),
      noProxy: text('NO_PROXY'),
      downloadHosts: must('BILLSYNC_DOWNLOAD_HOSTS', [], values.readHosts),
      allowPrivateHosts: must('BILLSYNC_ALLOW_PRIVATE_HOSTS', false, values.readBoolean),
    },
    partnerId: text('BILLSYNC_PARTNER_ID'),
    wirePrefix: must('BILLSYNC_WIRE_PREFIX', 'auto', readWirePrefix),
    webhook: {
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
      paths: webhookPaths(file, problems),
    },
    admin: {
      pageLimit: must('BILLSYNC_PAGE_LIMIT', '20s', values.readDuration),
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
    encryptionKeys: must('BILLSYNC_ENCRYPTION_KEY', [], values.readEncryptionKeys),
    warehouse: must(
      'BILLSYNC_WAREHOUSE',
      { kind: 'duckdb', path: join(dataDir, 'warehouse.duckdb') },
      (value, folder) => values.readWarehouse(value, { cwd: folder, lakeData }),
    ),
    warehouseMemoryLimit: read('BILLSYNC_WAREHOUSE_MEMORY_LIMIT', values.readMemoryLimit),
    csvTolerate: must('BILLSYNC_CSV_TOLERATE', [], values.readTolerances),
    archive: must('BILLSYNC_ARCHIVE', { kind: 'folder', path: join(dataDir, 'archive') }, values.readArchive),
    temporalConfigured,
    alerts: {
      file: path('BILLSYNC_ALERT_FILE'),
      webhookUrl: read('BILLSYNC_ALERT_WEBHOOK_URL', readSecretUrl),
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

/** TEMPORAL_ADDRESS, or a profile or file of Temporal's own, means: do not start an embedded server. */
function isTemporalConfigured(env: SettingsSources['env']): boolean {
  return ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'].some((variable) =>
    Boolean(env[variable]),
  );
}

function webhookPaths(file: SettingsFile | null, problems: SettingsProblem[]): Settings['webhook']['paths'] {
  return (file?.webhookPaths ?? []).flatMap(({ path, basicAuth, headers }) => {
    try {
      const credentials = {
        basicAuth: values.readBasicAuth(basicAuth),
        headers: values.readHeaders(headers),
      };
      return [{ path, credentials }];
    } catch (error) {
      problems.push({ setting: `webhook_paths ${path}`, message: (error as Error).message });
      return [];
    }
  });
}

function readHeaderName(text: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new Error('must be the name of a header');
  return text.toLowerCase();
}

function readWirePrefix(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(text)) throw new Error('must be a word such as auto or acme');
  return text;
}

/** Settings that are each fine and cannot be true together. */
function contradictions({ service, partnerId, webhook, admin }: Settings): SettingsProblem[] {
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

/** The message does not quote the text, which is a secret as a whole. */
function readSecretUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new Error('must be an http or https URL, such as https://host.example:3128');
}
