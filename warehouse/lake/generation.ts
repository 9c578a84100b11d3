/**
 * A generation is a schema of ledgers, a schema of DuckLake's tables, and a folder of Parquet files. A rebuild fills the next one and
 * then moves the pointer, so that readers see the old warehouse until the new one is complete.
 */

import pg from 'pg';
import type { EnvironmentName } from '../../lib/wire/names.ts';
import { applyMigrations } from '../duckdb/schema.ts';
import { WarehouseError } from '../errors.ts';
import type { CatalogAddress } from './catalog-address.ts';
import {
  connectionOptions,
  type Ledger,
  LOCK,
  ledgerMigrations,
  ledgerSchema,
  ledgerStatement,
  ledgerValues,
  unreachable,
} from './ledger.ts';

/** The first process creates generation 1. @throws environment-mismatch */
export async function currentGeneration(
  address: CatalogAddress,
  environment: EnvironmentName,
): Promise<number> {
  return withCatalog(address, async (query) => {
    // Two processes that start at once would both create the schema, and one would fail.
    await query('lock-session', { class: LOCK.opening, key: 0 });
    await query('create-pointer-schema');
    await query('create-pointer');
    await query('claim-pointer', { environment });
    const [found] = await query('read-pointer');
    if (found?.environment !== environment) {
      const owner = String(found?.environment);
      throw new WarehouseError('environment-mismatch', [
        `lake ${address.printable}`,
        owner,
        environment,
        `Name another catalogue in BILLSYNC_WAREHOUSE, or set BILLSYNC_ENVIRONMENT=${owner}.`,
      ]);
    }
    return Number(found.generation);
  });
}

export async function knownGeneration(address: CatalogAddress): Promise<number | null> {
  return withCatalog(address, async (query) => {
    const schemas = await query('generation-schemas');
    if (schemas.length === 0) return null;
    const [found] = await query('read-pointer');
    return found === undefined ? null : Number(found.generation);
  });
}

/** Changes with every publication and every rebuild. @returns null when there is no warehouse yet */
export async function publicationStamp(address: CatalogAddress): Promise<string | null> {
  return withCatalog(address, async (query, run) => {
    if ((await query('generation-schemas')).length === 0) return null;
    const [found] = await query('read-pointer');
    const generation = Number(found?.generation);
    await run(`set search_path = ${ledgerSchema(generation)}`);
    const [last] = await query('last-sequence');
    return `${generation} ${last?.sequence}`;
  });
}

/** The caller makes sure that no other process does. */
export async function migrateLedger(
  ledger: Ledger,
  { printable: where, now }: { readonly printable: string; readonly now: Date },
): Promise<void> {
  await ledger.transaction(async (transaction) => {
    await transaction.script(`create schema if not exists ${ledgerSchema(ledger.generation)}`);
    await applyMigrations(transaction, { where, known: ledgerMigrations(), now });
  });
}

export async function moveTo(address: CatalogAddress, next: number): Promise<void> {
  await withCatalog(address, async (query, run) => {
    await run('begin');
    await query('lock', { class: LOCK.generation, key: 0 });
    await query('move-pointer', { generation: next });
    await run('commit');
  });
}

/** The caller removes the Parquet files. */
export async function dropGenerations(
  address: CatalogAddress,
  isOld: (generation: number) => boolean,
): Promise<readonly number[]> {
  return withCatalog(address, async (query, run) => {
    const old = (await query('generation-schemas')).filter((row) => isOld(Number(row.generation)));
    for (const { schema } of old) await run(`drop schema ${String(schema)} cascade`);
    return [...new Set(old.map((row) => Number(row.generation)))];
  });
}

type Query = (
  name: string,
  params?: Readonly<Record<string, string | number>>,
) => Promise<readonly Record<string, unknown>[]>;

async function withCatalog<T>(
  address: CatalogAddress,
  work: (query: Query, run: (text: string) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(connectionOptions(address, 'opening'));
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw unreachable(address, error);
  }
  try {
    return await work(
      async (name, params = {}) => {
        const statement = ledgerStatement(name);
        return (await client.query(statement.text, ledgerValues(statement, params))).rows;
      },
      (text) => client.query(text),
    );
  } finally {
    // A transaction or lock that an error left open ends with the connection.
    await client.end();
  }
}
