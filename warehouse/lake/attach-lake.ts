import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version as duckdbVersion } from '@duckdb/node-api';
import { SettingsError } from '../../lib/config/settings.ts';
import { userCache } from '../../lib/runtime.ts';
import { Database } from '../duckdb/database.ts';
import type { Session } from '../duckdb/session.ts';
import { laterColumns, views } from '../duckdb/sql.ts';
import { WarehouseError } from '../errors.ts';
import type { CatalogAddress } from './catalog-address.ts';
import { asAttachedError, unreachable } from './catalog-errors.ts';
import { applicationName, ledgerSchema, rowStatement } from './ledger.ts';

export type RunStatement = (statement: string) => Promise<unknown>;

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export type ExtensionName = 'ducklake' | 'postgres_scanner' | 'httpfs';

export function extensionsFor(dataPath: string): readonly ExtensionName[] {
  return dataPath.startsWith('s3://')
    ? ['ducklake', 'postgres_scanner', 'httpfs']
    : ['ducklake', 'postgres_scanner'];
}

/** The folder of DuckDB's extensions: `.cache/` of a checkout, and otherwise one in the user's cache folder. */
export function extensionCache(version: string): string {
  const root = join(import.meta.dirname, '..', '..');
  const cache = existsSync(join(root, 'tsconfig.json')) ? join(root, '.cache') : userCache();
  return join(cache, 'duckdb-extensions', version);
}

export async function loadExtensions(run: RunStatement, names: readonly ExtensionName[]): Promise<void> {
  for (const name of names) await loadOne(run, name);
}

async function loadOne(run: RunStatement, name: ExtensionName): Promise<void> {
  const version = duckdbVersion();
  const cached = join(extensionCache(version), `${name}.duckdb_extension`);
  const places: readonly (readonly [place: string, ...statements: string[]])[] = [
    ["DuckDB's own folder", `load ${name}`],
    [cached, `load ${quoted(cached)}`],
    ['extensions.duckdb.org', `install ${name}`, `load ${name}`],
  ];
  const attempts: string[] = [];
  for (const [place, ...statements] of places) {
    try {
      for (const statement of statements) await run(statement);
      return;
    } catch (error) {
      attempts.push(`${place}: ${firstLine(error)}`);
    }
  }
  throw new WarehouseError('extension-missing', [name, version, attempts.join('; ')]);
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] ?? '';
}

export async function checkBucket(dataPath: string): Promise<void> {
  if (!dataPath.startsWith('s3://')) return;
  const [{ ListObjectsV2Command }, { openS3Client }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('../../archive/s3/bucket.ts'),
  ]);
  const client = openS3Client();
  try {
    await client.send(new ListObjectsV2Command({ Bucket: new URL(dataPath).hostname, MaxKeys: 1 }));
  } catch (error) {
    throw await explainBucketError(error, dataPath);
  } finally {
    client.destroy();
  }
}

export async function explainBucketError(error: unknown, dataPath: string): Promise<unknown> {
  const [{ explainS3Error }, { ownEndpoint }] = await Promise.all([
    import('../../archive/s3/errors.ts'),
    import('../../archive/s3/bucket.ts'),
  ]);
  return explainS3Error(error, {
    bucket: new URL(dataPath).hostname,
    url: dataPath,
    endpoint: ownEndpoint(),
    use: { whose: "the lake's", setting: 'BILLSYNC_LAKE_DATA' },
  });
}

/** Credentials are given again after this time, less than the shortest lifetime of a role's credentials (15 min). */
export const GIVE_AGAIN_MS = 300_000;

export async function giveS3Credentials(run: RunStatement, dataPath: string): Promise<void> {
  if (!dataPath.startsWith('s3://')) return;
  const { S3Client } = await import('@aws-sdk/client-s3');
  const client = new S3Client({});
  try {
    const { accessKeyId, secretAccessKey, sessionToken } = await client.config.credentials();
    const parts = [
      `key_id ${quoted(accessKeyId)}`,
      `secret ${quoted(secretAccessKey)}`,
      `region ${quoted(await client.config.region())}`,
      ...(sessionToken === undefined ? [] : [`session_token ${quoted(sessionToken)}`]),
      ...endpoint(process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL),
    ];
    await run(`create or replace secret billsync_lake_data (type s3, ${parts.join(', ')})`);
  } catch (error) {
    throw await explainBucketError(error, dataPath);
  } finally {
    client.destroy();
  }
}

/** The statement's part for a custom endpoint, which expects the bucket in the path. */
function endpoint(url: string | undefined): readonly string[] {
  if (url === undefined) return [];
  const { host, protocol } = new URL(url);
  return [`endpoint ${quoted(host)}`, "url_style 'path'", `use_ssl ${protocol === 'https:'}`];
}

export interface LakePlace {
  readonly address: CatalogAddress;
  readonly dataPath: string;
  readonly generation: number;
}

export function generationPath({ dataPath, generation }: Omit<LakePlace, 'address'>): string {
  return `${dataPath.replace(/\/+$/, '')}/generation-${generation}/`;
}

export function lakeSchema(generation: number): string {
  return `billsync_lake_${generation}`;
}

/** PostgreSQL's limit of an idle transaction is longer than that of a DuckDB call (`lib/health/native-calls.ts`). */
const IDLE_LIMIT_MS = 11 * 60_000;

/**
 * Limits for each attached database: a scan uses the connection of its transaction, and idle connections are closed. Concurrent
 * transactions exceed the number, because one that waits for a second connection could wait for itself.
 */
const CONNECTION_LIMITS = [
  'set global pg_use_ctid_scan = false',
  'set global pg_pool_max_connections = 1',
  'set global pg_pool_idle_timeout_millis = 2000',
];

const CATALOG_SECRET = 'billsync_lake_catalog';

/**
 * A named secret for this attachment only: DuckDB sends it to no other server. Without a password it is there all the same, because
 * DuckDB would look for another one in the home folder, which instances of billsync do not read.
 */
export function catalogSecret({ password }: CatalogAddress): string {
  const given = password === '' ? '' : `, password ${quoted(password)}`;
  return `create or replace secret ${CATALOG_SECRET} (type postgres${given})`;
}

interface Attaching {
  readonly libpq: string;
  readonly readOnly: boolean;
  readonly mayCreate?: boolean;
  readonly hasSecret: boolean;
}

export function attachStatements(
  place: Omit<LakePlace, 'address'>,
  { libpq, readOnly, mayCreate = false, hasSecret }: Attaching,
): readonly string[] {
  const { generation } = place;
  const reading = readOnly ? ', read_only' : '';
  const creating = readOnly ? reading : `, create_if_not_exists ${mayCreate}`;
  const secret = hasSecret ? `, secret ${quoted(CATALOG_SECRET)}` : '';
  const metaSecret = hasSecret ? `, meta_secret ${quoted(CATALOG_SECRET)}` : '';
  // Inlined rows make a small load five times slower (measured): each load is a file until tidying merges them.
  const options = `data_path ${quoted(generationPath(place))}, metadata_schema ${quoted(lakeSchema(generation))}, data_inlining_row_limit 0${metaSecret}${creating}`;
  return [
    `attach ${quoted(`ducklake:postgres:${libpq}`)} as lake (${options})`,
    `attach ${quoted(libpq)} as ledger (type postgres, schema ${quoted(ledgerSchema(generation))}${secret}${reading})`,
  ];
}

/** @throws extension-missing, catalog-unreachable, SettingsError the files are in another place */
export async function attachLake(
  run: RunStatement,
  place: LakePlace,
  { readOnly, mayCreate = false }: { readonly readOnly: boolean; readonly mayCreate?: boolean },
): Promise<void> {
  await loadExtensions(run, extensionsFor(place.dataPath));
  await giveS3Credentials(run, place.dataPath);
  for (const setting of CONNECTION_LIMITS) await run(setting);
  const libpq = limited(place.address.libpq, readOnly ? 'reader' : 'duckdb');
  const attaching = attachStatements(place, { libpq, readOnly, mayCreate, hasSecret: true });
  for (const statement of [catalogSecret(place.address), ...attaching]) {
    try {
      await run(statement);
    } catch (error) {
      const known = error instanceof WarehouseError ? error : liesElsewhere(error, place);
      throw known ?? unreachable(place.address, error);
    }
  }
}

/** DuckDB's connections are idle while it works between two statements, which has its own limit. Values of the address win. */
function limited(libpq: string, role: string): string {
  const keywords = [
    ['application_name', `'${applicationName(role).replaceAll(/['\\\\]/g, '_')}'`],
    ['keepalives_idle', '20'],
    ['keepalives_interval', '10'],
    ['keepalives_count', '3'],
    ['tcp_user_timeout', '60000'],
    ['options', `'-c idle_in_transaction_session_timeout=${IDLE_LIMIT_MS} -c tcp_keepalives_idle=20'`],
  ] as const;
  const missing = keywords.filter(([keyword]) => !new RegExp(`(?:^|\\s)${keyword}\\s*=`).test(libpq));
  return [libpq, ...missing.map(([keyword, value]) => `${keyword}=${value}`)].join(' ');
}

/** DuckLake stores the place of its files and accepts no other. */
function liesElsewhere(error: unknown, { dataPath, generation }: LakePlace): SettingsError | null {
  const message = error instanceof Error ? error.message : '';
  const [, found] =
    /DATA_PATH.* does not match existing data path in the catalog "(.*?)"/s.exec(message) ?? [];
  if (found === undefined) return null;
  const there = found.replace(`generation-${generation}/`, '').replace(/\/+$/, '');
  const problem = `is ${dataPath}, but the files of this lake lie in ${there}; set it back, or let \`billsync rebuild\` make the lake again where it says`;
  return new SettingsError([{ setting: 'BILLSYNC_LAKE_DATA', message: problem }]);
}

export interface LakeDatabaseOptions {
  readonly place: LakePlace;
  readonly mayCreate?: boolean;
  readonly folders: readonly string[];
  readonly temporaryFolder: string;
  readonly memoryLimit: string | null;
  readonly whenAttached?: (session: Session) => Promise<void>;
  readonly onFatal?: (error: WarehouseError) => void;
}

/** There are two sessions: one for the load in progress, one for everything else. Each may use connections to PostgreSQL. */
const CONNECTIONS = 2;

export function openLakeDatabase(options: LakeDatabaseOptions): Promise<Database> {
  const { place, mayCreate = false, folders, temporaryFolder, memoryLimit, onFatal } = options;
  return Database.open({
    path: ':memory:',
    folders: [...folders, generationPath(place)],
    temporaryFolder,
    memoryLimit,
    statements: rowStatement,
    connections: CONNECTIONS,
    explain: (error) => asAttachedError(error, place.address),
    ...(onFatal === undefined ? {} : { onFatal }),
    async attach(session) {
      const run: RunStatement = (statement) => session.statement(statement);
      await attachLake(run, place, { readOnly: false, mayCreate });
      await session.all('create-rows');
      for (const column of laterColumns('lake.main.shipment_rows')) await session.statement(column);
      await createViews(session);
      await options.whenAttached?.(session);
    },
  });
}

/** The views are created in one transaction, because each one reads the catalogue's schemas again, with many round trips. */
export async function createViews(session: Session): Promise<void> {
  const scripts = [rowStatement('base-views'), ...views().scripts, rowStatement('publication-view')];
  await session.transaction(async () => {
    for (const script of scripts) await session.script(script);
  });
}
