/**
 * A generation is a schema of ledgers, a schema of DuckLake's tables, and a folder of Parquet files. A rebuild fills the next one and
 * then moves the pointer, so that readers see the old warehouse until the new one is complete.
 */

import pg from 'pg';
import type { EnvironmentName } from '../../lib/wire/names.ts';
import { applyMigrations } from '../duckdb/schema.ts';
import { WarehouseError } from '../errors.ts';
import type { CatalogAddress } from './catalog-address.ts';
import { asCatalogError, unreachable } from './catalog-errors.ts';
import {
  connectionOptions,
  Ledger,
  type LedgerTransaction,
  LOCK,
  ledgerMigrations,
  ledgerSchema,
  ledgerStatement,
  ledgerValues,
  requireSessions,
} from './ledger.ts';

/** The first process creates generation 1. @throws environment-mismatch, catalog-pooled, ledgers-missing */
export async function currentGeneration(
  address: CatalogAddress,
  environment: EnvironmentName,
): Promise<number> {
  return withCatalog(address, async (query, _run, client) => {
    await refusePooledSessions(address, client);
    // The lock orders processes that start at once: both would create the schema, and one would fail.
    await query('lock-session', { class: LOCK.opening, key: 0 });
    const [{ is_there: isThere } = {}] = await query('has-pointer');
    const [found] = isThere === true ? await query('read-pointer') : [];
    if (found === undefined) {
      const schemas = (await query('generation-schemas')).map(({ schema }) => String(schema));
      if (schemas.length > 0) throw pointerMissing(address, schemas);
      await createFirst(address, environment);
      return 1;
    }
    if (found.environment !== environment) {
      const owner = String(found.environment);
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

async function refusePooledSessions(address: CatalogAddress, client: pg.Client): Promise<void> {
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    // Behind a pooler the announced process number is not that of PostgreSQL.
    if ((client as { processID?: number }).processID === rows[0]?.pid) return;
    await withCatalog(address, (_query, _run, other) => requireSessions(address, client, other));
  } catch (error) {
    throw asCatalogError(error, address);
  }
}

function pointerMissing(address: CatalogAddress, schemas: readonly string[]): WarehouseError {
  return new WarehouseError('ledgers-missing', [address.printable, 'the table billsync.warehouse'], {
    hint: `restore it from the dump; or drop the schemas ${schemas.join(', ')} and start again, which makes all of it from the archive`,
  });
}

async function createFirst(address: CatalogAddress, environment: EnvironmentName): Promise<void> {
  const ledger = new Ledger(address, { generation: 1, role: 'opening', isBeingMade: true });
  try {
    await ledger.transaction(async (transaction) => {
      await transaction.all('create-pointer-schema');
      await transaction.all('create-pointer');
      await createTables(transaction, { generation: 1, where: address.printable, now: new Date() });
      await transaction.all('claim-pointer', { environment });
    });
  } finally {
    await ledger.close();
  }
}

export async function knownGeneration(address: CatalogAddress): Promise<number | null> {
  return withCatalog(address, async (query) => {
    const schemas = await query('generation-schemas');
    if (schemas.length === 0) return null;
    const [found] = await query('read-pointer');
    return found === undefined ? null : Number(found.generation);
  });
}

/** Returns a text that changes with every publication and every rebuild; null when there is no warehouse yet. */
export async function publicationStamp(address: CatalogAddress): Promise<string | null> {
  return withCatalog(address, async (query) => {
    if ((await query('generation-schemas')).length === 0) return null;
    const [found] = await query('read-pointer');
    const generation = Number(found?.generation);
    const [last] = await query('last-sequence', {}, generation);
    return `${generation} ${last?.sequence}`;
  });
}

interface Tables {
  readonly generation: number;
  readonly where: string;
  readonly now: Date;
}

/** Creates the ledgers of a rebuild. The caller makes sure that no other process does. */
export function createLedger(ledger: Ledger, tables: Omit<Tables, 'generation'>): Promise<void> {
  const { generation } = ledger;
  return ledger.transaction((transaction) => createTables(transaction, { ...tables, generation }));
}

async function createTables(
  transaction: LedgerTransaction,
  { generation, where, now }: Tables,
): Promise<void> {
  await transaction.script(`create schema ${ledgerSchema(generation)}`);
  await applyMigrations(transaction, { where, known: ledgerMigrations(generation), now });
}

/** The caller makes sure that no other process does. @throws ledgers-missing, warehouse-too-new */
export async function migrateLedger(
  ledger: Ledger,
  { where, now }: Omit<Tables, 'generation'>,
): Promise<void> {
  const { generation } = ledger;
  await ledger.transaction(async (transaction) => {
    // Missing ledgers are not made anew, because they would be empty and every load would be repeated beside its rows.
    const { is_there: isThere } = await transaction.first('has-ledgers', {
      schema: ledgerSchema(generation),
    });
    if (isThere !== true)
      throw new WarehouseError('ledgers-missing', [where, `the schema ${ledgerSchema(generation)}`]);
    await applyMigrations(transaction, { where, known: ledgerMigrations(generation), now });
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
  generation?: number,
) => Promise<readonly Record<string, unknown>[]>;

async function withCatalog<T>(
  address: CatalogAddress,
  work: (query: Query, run: (text: string) => Promise<unknown>, client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(connectionOptions(address, 'opening'));
  client.on('error', () => undefined);
  const ask = (text: string, values: (string | null)[] = []) =>
    client.query<Record<string, unknown>>(text, values).catch((error: unknown) => {
      throw asCatalogError(error, address);
    });
  try {
    await client.connect();
  } catch (error) {
    throw unreachable(address, error);
  }
  try {
    return await work(
      // Without a generation, only statements that name no ledgers can run; their text is the same for each generation.
      async (name, params = {}, generation = 0) => {
        const statement = ledgerStatement(name, generation);
        return (await ask(statement.text, ledgerValues(statement, params))).rows;
      },
      ask,
      client,
    );
  } finally {
    // A transaction or lock that an error left open ends with the connection.
    await client.end();
  }
}
