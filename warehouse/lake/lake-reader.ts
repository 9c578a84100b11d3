/**
 * Reads a lake through its file of views: one instance of DuckDB per process, since loading the extensions takes a
 * second, and a connection with one look at everything for each who asks.
 *
 * The order matters. Rows come into the lake before the ledger counts them, so a reader that looks at the ledgers
 * first and at the lake after finds every row that its ledgers count. Both looks are kept by one transaction.
 */

import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { rollBackAndClose } from '../../lib/duckdb-values.ts';
import { readingLimits } from '../../lib/files/published-file.ts';
import { Database } from '../duckdb/database.ts';
import { WarehouseError } from '../errors.ts';
import { attachLake, type LakePlace } from './attach-lake.ts';
import { readCatalogAddress } from './catalog-address.ts';
import { knownGeneration } from './generation.ts';
import { viewScripts } from './lake-database.ts';
import type { LakeSettings } from './lake-source.ts';
import { unreachable } from './ledger.ts';
import { touchPointerFile, writePointerFile } from './pointer-file.ts';
import { quoted, type RunStatement } from './run-statement.ts';
import { GIVE_AGAIN_MS, giveS3Credentials } from './s3-credentials.ts';

interface Opened {
  /** Of the file and the generation; a rebuild changes both. */
  readonly stamp: string;
  readonly instance: Promise<DuckDBInstance>;
  /** When a bucket's credentials were given; milliseconds of the clock. */
  givenAt: number;
}

/** DuckDB's messages when PostgreSQL does not answer. */
const LOST_CONNECTION =
  /connection to server|server closed the connection|terminating connection|connect to Postgres/i;

const opened = new Map<string, Opened>();

/**
 * A connection that sees the warehouse as it is now and goes on seeing it so; it can reach nothing but the lake.
 *
 * @param path of the file of views
 * @throws catalog-unreachable, extension-missing
 */
export async function connectToLake(path: string, lake: LakeSettings): Promise<DuckDBConnection> {
  const shared = await sharedInstance(path, lake);
  const connection = await (await shared.instance).connect();
  try {
    if (Date.now() - shared.givenAt > GIVE_AGAIN_MS) {
      await giveS3Credentials((statement) => connection.run(statement), lake.dataPath);
      shared.givenAt = Date.now();
    }
    await connection.run('begin transaction');
    await connection.runAndReadAll('select max(sequence) from internal.publication_log');
    return connection;
  } catch (error) {
    await rollBackAndClose(connection);
    throw LOST_CONNECTION.test(String(error)) ? unreachable(readCatalogAddress(lake.catalog), error) : error;
  }
}

/** @throws catalog-unreachable nobody answers, or there is no warehouse yet */
export async function attachForReading(lake: LakeSettings, run: RunStatement): Promise<void> {
  await attachLake(run, { ...(await placeOf(lake)), dataPath: lake.dataPath }, { readOnly: true });
}

/** @throws catalog-unreachable nobody answers, or there is no warehouse yet */
export async function placeOf(lake: LakeSettings) {
  const address = readCatalogAddress(lake.catalog);
  const generation = await knownGeneration(address);
  if (generation === null) throw new WarehouseError('no-lake-yet', [address.shown]);
  return { address, generation };
}

async function sharedInstance(path: string, lake: LakeSettings): Promise<Opened> {
  const place = await placeOf(lake);
  const { generation } = place;
  await makePointerFile(path, { ...place, dataPath: lake.dataPath });
  const { dev, ino } = await stat(path, { bigint: true });
  const stamp = `${dev}/${ino}/${generation}`;
  const known = opened.get(path);
  if (known?.stamp === stamp) return known;
  const instance = openInstance(path, lake);
  const fresh: Opened = { stamp, instance, givenAt: Date.now() };
  opened.set(path, fresh);
  instance.catch(() => {
    if (opened.get(path) === fresh) opened.delete(path);
  });
  // Who still reads the instance before keeps it: DuckDB closes it with its last connection.
  known?.instance.then((before) => before.closeSync()).catch(() => undefined);
  return fresh;
}

const shown = new Map<string, string>();

/** Touches the file of views when another machine published, so that its watchers read again. @throws as `connectToLake` */
export async function noticePublication(path: string, lake: LakeSettings): Promise<void> {
  const { stamp, instance } = await sharedInstance(path, lake);
  const connection = await (await instance).connect();
  try {
    const read = await connection.runAndReadAll('select max(sequence) from internal.publication_log');
    const now = `${stamp} ${read.getRows()[0]?.[0]}`;
    const before = shown.get(path);
    shown.set(path, now);
    if (before !== undefined && before !== now) await touchPointerFile(path, new Date());
  } finally {
    await rollBackAndClose(connection);
  }
}

const making = new Map<string, Promise<void>>();
const made = new Map<string, number>();

/**
 * The file of views, where this machine has none, or one that tells people to attach a generation that was replaced: a reader
 * depends on no worker beside it.
 */
export async function makePointerFile(path: string, place: LakePlace): Promise<void> {
  if (made.get(path) === place.generation && existsSync(path)) return;
  const work = making.get(path) ?? writeOwnPointerFile(path, place);
  making.set(path, work);
  try {
    await work;
    made.set(path, place.generation);
  } catch (error) {
    // In a folder that this process may not write to, what a worker made is used.
    if (!existsSync(path)) throw error;
  } finally {
    making.delete(path);
  }
}

async function writeOwnPointerFile(path: string, place: LakePlace): Promise<void> {
  if (existsSync(path) && (await generationOf(path)) === place.generation) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const database = await Database.open({
    ...{ path: ':memory:', folders: [], temporaryFolder: dirname(path), memoryLimit: null },
    async attach(session) {
      await attachLake((statement) => session.statement(statement), place, { readOnly: true });
      for (const view of viewScripts()) await session.script(view);
      await writePointerFile(session, path, place);
    },
  });
  database.close();
}

/** null when the file does not say. */
async function generationOf(path: string): Promise<number | null> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    const read = await connection.runAndReadAll(
      "select max(nullif(regexp_extract(statement, 'generation-(\\d+)/', 1), ''))::integer from how_to_attach",
    );
    const found = read.getRows()[0]?.[0];
    return typeof found === 'number' ? found : null;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function openInstance(path: string, lake: LakeSettings): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(path, {
    access_mode: 'READ_ONLY',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    ...readingLimits(path),
  });
  const connection = await instance.connect();
  try {
    const run: RunStatement = (statement) => connection.run(statement);
    await attachForReading(lake, run);
    await run("set global TimeZone = 'UTC'");
    await run(`set allowed_directories = [${quoted(`${lake.dataPath.replace(/\/+$/, '')}/`)}]`);
    await run('set enable_external_access = false');
    await run('set lock_configuration = true');
    return instance;
  } catch (error) {
    instance.closeSync();
    throw error;
  } finally {
    connection.closeSync();
  }
}
