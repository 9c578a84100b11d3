import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isTrustedOwner, untrustedReason, userName } from '../files/trusted-path.ts';
import {
  findSettingsFile,
  findText,
  readSettingsFile,
  type Search,
  type SettingOrigin,
  type SettingsSources,
  unknownVariables,
} from './find-setting.ts';
import {
  isDefinition,
  SETTING_DEFINITIONS,
  SETTINGS,
  type SettingDefinition,
  type SettingTable,
  type SettingValues,
} from './setting-definitions.ts';
import { type Settings, SettingsError, type SettingsProblem } from './settings.ts';

export interface EffectiveSettings {
  readonly settings: Settings;
  readonly origins: readonly SettingOrigin[];
  readonly file: string | null;
}

export function loadSettings(sources: SettingsSources): Settings {
  return loadEffectiveSettings(sources).settings;
}

export function loadEffectiveSettings(sources: SettingsSources): EffectiveSettings {
  const problems: SettingsProblem[] = [];
  const named = sources.flags?.BILLSYNC_CONFIG ?? (sources.env.BILLSYNC_CONFIG || undefined);
  const path = findSettingsFile({ named, cwd: sources.cwd });
  const untrusted = path === null || named !== undefined ? null : untrustedReason(path);
  if (path !== null && untrusted !== null) {
    const message = `is not read, because ${untrusted}; if it is yours, remove that right, or name it with --config or BILLSYNC_CONFIG`;
    throw new SettingsError([{ setting: path, message }]);
  }
  const file = path === null ? null : readSettingsFile(path, problems);
  problems.push(...unknownVariables(sources.env));
  const origins = SETTING_DEFINITIONS.map((definition) => findText(definition, { sources, file, problems }));
  const settings = buildSettings(origins, { file, sources, problems });
  if (settings !== null) refuseForeignDataFolder(settings.dataDir, origins);
  if (settings === null) throw new SettingsError(problems);
  return { settings, origins, file: path };
}

/** A data folder that a setting names may belong to the user of a service, so only the default one is checked. */
function refuseForeignDataFolder(dataDir: string, origins: readonly SettingOrigin[]): void {
  const isNamed = origins.some(
    ({ definition, origin }) => definition.variable === 'BILLSYNC_DATA_DIR' && origin !== 'default',
  );
  const owner = statSync(dataDir, { throwIfNoEntry: false })?.uid ?? 0;
  if (isNamed || isTrustedOwner(owner)) return;
  const message = `is not used, because it belongs to ${userName(owner)}; name it with BILLSYNC_DATA_DIR if it is meant`;
  throw new SettingsError([{ setting: dataDir, message }]);
}

function buildSettings(
  origins: readonly SettingOrigin[],
  { file, sources, problems }: Search,
): Settings | null {
  const byDefinition = new Map(origins.map((origin) => [origin.definition, origin]));
  const { warehouse, lakeData, archive, ...values } = valuesOf(SETTINGS, byDefinition, problems);
  const { dataDir } = values;
  const format = values.log.format ?? (sources.terminal === true ? 'pretty' : 'json');
  if (warehouse?.kind === 'ducklake' && lakeData === null) {
    problems.push({ setting: 'BILLSYNC_LAKE_DATA', message: 'is needed with ducklake: a folder or s3://…' });
  }
  const settings: Settings = {
    ...values,
    webhook: { ...values.webhook, paths: file?.webhookPaths ?? [] },
    warehouse:
      warehouse?.kind === 'ducklake'
        ? { ...warehouse, dataPath: lakeData ?? '' }
        : (warehouse ?? { kind: 'duckdb', path: join(dataDir, 'warehouse.duckdb') }),
    archive: archive ?? { kind: 'folder', path: join(dataDir, 'archive') },
    temporalConfigured: isTemporalConfigured(sources.env),
    isAdminPortOwn: origins.some(
      ({ definition, origin }) =>
        definition.variable === 'BILLSYNC_ADMIN_PORT' && (origin === 'flag' || origin === 'environment'),
    ),
    log: { ...values.log, format },
  };
  problems.push(...contradictions(settings));
  return problems.length > 0 ? null : settings;
}

function valuesOf<Table extends SettingTable>(
  table: Table,
  origins: ReadonlyMap<SettingDefinition, SettingOrigin>,
  problems: SettingsProblem[],
): SettingValues<Table> {
  const read = Object.entries(table).map(([name, entry]) => {
    if (!isDefinition(entry)) return [name, valuesOf(entry, origins, problems)];
    const origin = origins.get(entry);
    return [name, origin === undefined ? entry.unset : readValue(origin, problems)];
  });
  return Object.fromEntries(read) as SettingValues<Table>;
}

function readValue({ definition, text, origin, from, folder }: SettingOrigin, problems: SettingsProblem[]) {
  if (text === null) return definition.unset;
  try {
    return definition.read(text, folder);
  } catch (error) {
    const where = origin === 'file' ? ` in ${from}` : '';
    problems.push({ setting: `${definition.variable}${where}`, message: (error as Error).message });
    return definition.unset;
  }
}

/** TEMPORAL_ADDRESS, or a profile or file of Temporal's own, means: do not start an embedded server. */
function isTemporalConfigured(env: Search['sources']['env']): boolean {
  return ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'].some((variable) =>
    Boolean(env[variable]),
  );
}

function contradictions({
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
  const { operators, basicAuth: reader } = admin;
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
