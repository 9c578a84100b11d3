/** Attaches a lake to a connection of DuckDB: rows as `lake`, ledgers as `ledger`, both of one generation. */

import { SettingsError } from '../../lib/config/settings.ts';
import type { CatalogAddress } from './catalog-address.ts';
import { extensionsFor, loadExtensions } from './extensions.ts';
import { applicationName, ledgerSchema, unreachable } from './ledger.ts';
import { quoted, type RunStatement } from './run-statement.ts';
import { giveS3Credentials } from './s3-credentials.ts';

export interface LakePlace {
  readonly address: CatalogAddress;
  /** A folder, or `s3://bucket/prefix`. */
  readonly dataPath: string;
  readonly generation: number;
}

/** Parquet files of a generation, so that a rebuilt lake and the one before never share a file. */
export function generationPath({ dataPath, generation }: Omit<LakePlace, 'address'>): string {
  return `${dataPath.replace(/\/+$/, '')}/generation-${generation}/`;
}

export function lakeSchema(generation: number): string {
  return `billsync_lake_${generation}`;
}

/** Above the limit of a call of DuckDB (`lib/health/native-calls.ts`). */
const IDLE_LIMIT_MS = 11 * 60_000;

/**
 * For each of the two attached databases: a scan uses the connection of its transaction, and idle connections are closed. DuckDB
 * exceeds the number rather than wait: a transaction that waits for a second connection could wait for itself.
 */
function connectionLimits(connections: number): readonly string[] {
  return [
    'set global pg_use_ctid_scan = false',
    `set global pg_pool_max_connections = ${connections}`,
    'set global pg_pool_idle_timeout_millis = 10000',
  ];
}

/** In the memory of one DuckDB instance. */
const CATALOG_SECRET = 'billsync_lake_catalog';

/** A named secret for this attachment only: DuckDB sends it to no other server. Null without a password. */
export function catalogSecret({ password }: CatalogAddress): readonly string[] {
  if (password === '') return [];
  return [`create or replace secret ${CATALOG_SECRET} (type postgres, password ${quoted(password)})`];
}

interface Attaching {
  readonly libpq: string;
  readonly readOnly: boolean;
  /** Whether `catalogSecret` was made; without it the password comes from where libpq looks. */
  readonly hasSecret: boolean;
}

/** Statements that any DuckDB understands. */
export function attachStatements(
  place: Omit<LakePlace, 'address'>,
  { libpq, readOnly, hasSecret }: Attaching,
): readonly string[] {
  const { generation } = place;
  const reading = readOnly ? ', read_only' : '';
  const secret = hasSecret ? `, secret ${quoted(CATALOG_SECRET)}` : '';
  const metaSecret = hasSecret ? `, meta_secret ${quoted(CATALOG_SECRET)}` : '';
  // Inlined rows make a small load five times slower (measured); each load is a file until tidying merges them.
  const options = `data_path ${quoted(generationPath(place))}, metadata_schema ${quoted(lakeSchema(generation))}, data_inlining_row_limit 0${metaSecret}${reading}`;
  return [
    `attach ${quoted(`ducklake:postgres:${libpq}`)} as lake (${options})`,
    `attach ${quoted(libpq)} as ledger (type postgres, schema ${quoted(ledgerSchema(generation))}${secret}${reading})`,
  ];
}

/** @throws extension-missing, catalog-unreachable, SettingsError its files lie elsewhere */
export async function attachLake(
  run: RunStatement,
  place: LakePlace,
  { readOnly }: { readonly readOnly: boolean },
): Promise<void> {
  await loadExtensions(run, extensionsFor(place.dataPath));
  await giveS3Credentials(run, place.dataPath);
  for (const setting of connectionLimits(readOnly ? 1 : 2)) await run(setting);
  const { password } = place.address;
  const libpq = limited(place.address.libpq, readOnly ? 'reader' : 'duckdb');
  const secret = catalogSecret(place.address);
  const hasSecret = password !== '';
  for (const statement of [...secret, ...attachStatements(place, { libpq, readOnly, hasSecret })]) {
    try {
      await run(statement);
    } catch (error) {
      throw liesElsewhere(error, place) ?? unreachable(place.address, error);
    }
  }
}

/**
 * Of DuckDB's own connections: a transaction of theirs is idle for as long as DuckDB works between two statements, which has a
 * limit of its own. What the address says itself stays.
 */
function limited(libpq: string, role: string): string {
  const words = [
    ['application_name', `'${applicationName(role).replaceAll(/['\\\\]/g, '_')}'`],
    ['keepalives_idle', '20'],
    ['keepalives_interval', '10'],
    ['keepalives_count', '3'],
    ['tcp_user_timeout', '60000'],
    ['options', `'-c idle_in_transaction_session_timeout=${IDLE_LIMIT_MS} -c tcp_keepalives_idle=20'`],
  ] as const;
  const missing = words.filter(([word]) => !new RegExp(`(?:^|\\s)${word}\\s*=`).test(libpq));
  return [libpq, ...missing.map(([word, value]) => `${word}=${value}`)].join(' ');
}

/** DuckLake remembers where its files lie and takes no other place. */
function liesElsewhere(error: unknown, { dataPath, generation }: LakePlace): SettingsError | null {
  const message = error instanceof Error ? error.message : '';
  const [, found] =
    /DATA_PATH.* does not match existing data path in the catalog "(.*?)"/s.exec(message) ?? [];
  if (found === undefined) return null;
  const there = found.replace(`generation-${generation}/`, '').replace(/\/+$/, '');
  const problem = `is ${dataPath}, but the files of this lake lie in ${there}; set it back, or let \`billsync rebuild\` make the lake again where it says`;
  return new SettingsError([{ setting: 'BILLSYNC_LAKE_DATA', message: problem }]);
}
