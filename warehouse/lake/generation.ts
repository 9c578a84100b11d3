/**
 * Generations of a lake: which one counts, and how the next is made beside it.
 *
 * A generation is a schema of ledgers, a schema of DuckLake's own tables, and a folder of Parquet files. A rebuild
 * fills a new one and then moves the pointer, so that readers see the old warehouse until the new one is whole.
 */

import pg from 'pg';
import type { EnvironmentName } from '../../lib/wire/names.ts';
import { WarehouseError } from '../errors.ts';
import type { CatalogAddress } from './catalog-address.ts';
import { ledgerMigrations, ledgerStatement, ledgerValues } from './lake-statements.ts';
import { applicationName, type Ledger, LOCK, ledgerSchema, unreachable } from './ledger.ts';

const CONNECT_MS = 15_000;

/**
 * The generation that counts; the first to come makes generation 1.
 *
 * @throws environment-mismatch test and production never share a catalogue
 */
export async function currentGeneration(
  address: CatalogAddress,
  environment: EnvironmentName,
): Promise<number> {
  return withCatalog(address, async (ask) => {
    // Two that come first at once would both make the schema, and one would fail.
    await ask('lock-session', { class: LOCK.opening, key: 0 });
    await ask('create-pointer-schema');
    await ask('create-pointer');
    await ask('claim-pointer', { environment });
    const [found] = await ask('read-pointer');
    if (found?.environment !== environment) {
      const owner = String(found?.environment);
      throw new WarehouseError('environment-mismatch', [
        `lake ${address.shown}`,
        owner,
        environment,
        `Name another catalogue in BILLSYNC_WAREHOUSE, or set BILLSYNC_ENVIRONMENT=${owner}.`,
      ]);
    }
    return Number(found.generation);
  });
}

/** For readers: null when there is no warehouse yet. */
export async function knownGeneration(address: CatalogAddress): Promise<number | null> {
  return withCatalog(address, async (ask) => {
    const schemas = await ask('generation-schemas');
    if (schemas.length === 0) return null;
    const [found] = await ask('read-pointer');
    return found === undefined ? null : Number(found.generation);
  });
}

/** Brings the ledgers' schema up to date; the caller sees to it that nobody else does. */
export async function migrateLedger(
  ledger: Ledger,
  options: { readonly shown: string; readonly now: Date },
): Promise<void> {
  await ledger.transaction(async (transaction) => {
    await transaction.script(`create schema if not exists ${ledgerSchema(ledger.generation)}`);
    await transaction.all('create-migrations');
    const { found } = await transaction.first('migration-number');
    const known = ledgerMigrations();
    const last = known.at(-1)?.number ?? 0;
    if (Number(found) > last)
      throw new WarehouseError('warehouse-too-new', [options.shown, Number(found), last]);
    for (const migration of known) {
      if (migration.number <= Number(found)) continue;
      await transaction.script(migration.text);
      await transaction.all('insert-migration', {
        number: migration.number,
        name: migration.name,
        applied_at: options.now.toISOString(),
      });
    }
  });
}

/** Makes `next` the one that counts, once all who write have ended what they are at. */
export async function moveTo(address: CatalogAddress, next: number): Promise<void> {
  await withCatalog(address, async (ask) => {
    await ask('begin');
    await ask('lock', { class: LOCK.generation, key: 0 });
    await ask('move-pointer', { generation: next });
    await ask('commit');
  });
}

/** Removes the ledgers and the catalogue of the generations named; their Parquet files are the caller's. */
export async function dropGenerations(
  address: CatalogAddress,
  isOld: (generation: number) => boolean,
): Promise<readonly number[]> {
  return withCatalog(address, async (ask, run) => {
    const old = (await ask('generation-schemas')).filter((row) => isOld(Number(row.generation)));
    for (const { schema } of old) await run(`drop schema ${String(schema)} cascade`);
    return [...new Set(old.map((row) => Number(row.generation)))];
  });
}

type Ask = (
  name: string,
  params?: Readonly<Record<string, string | number>>,
) => Promise<readonly Record<string, unknown>[]>;

async function withCatalog<T>(
  address: CatalogAddress,
  work: (ask: Ask, run: (text: string) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    ...address.pool,
    connectionTimeoutMillis: CONNECT_MS,
    ...{ keepAlive: true, keepAliveInitialDelayMillis: 30_000 },
    application_name: applicationName('opening'),
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw unreachable(address, error);
  }
  try {
    return await work(
      async (name, params = {}) => {
        if (name === 'begin' || name === 'commit') return (await client.query(name)).rows;
        const statement = ledgerStatement(name);
        return (await client.query(statement.text, ledgerValues(statement, params))).rows;
      },
      (text) => client.query(text),
    );
  } finally {
    // A transaction or a lock that an error left open ends with the connection.
    await client.end();
  }
}
