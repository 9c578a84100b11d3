/**
 * Reads a lake through its file of views: one instance of DuckDB per process, since loading the extensions takes a
 * second, and a connection with one look at everything for each who asks.
 *
 * The order matters. Rows come into the lake before the ledger counts them, so a reader that looks at the ledgers
 * first and at the lake after finds every row that its ledgers count. Both looks are kept by one transaction.
 */

import { stat } from 'node:fs/promises';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { rollBackAndClose } from '../../ops/close-connection.ts';
import { readingLimits } from '../../ops/reading-limits.ts';
import { attachLake } from './attach-lake.ts';
import { readCatalogAddress } from './catalog-address.ts';
import { CatalogUnreachableError } from './errors.ts';
import { knownGeneration } from './generation.ts';
import type { LakeSettings } from './lake-source.ts';
import { quoted, type RunStatement } from './run-statement.ts';
import { GIVE_AGAIN_MS, giveS3Credentials } from './s3-credentials.ts';

interface Opened {
  /** Of the file and the generation; a rebuild changes both. */
  readonly stamp: string;
  readonly instance: Promise<DuckDBInstance>;
  /** When a bucket's credentials were given; milliseconds of the clock. */
  givenAt: number;
}

const opened = new Map<string, Opened>();

/**
 * A connection that sees the warehouse as it is now and goes on seeing it so; it can reach nothing but the lake.
 *
 * @param path of the file of views
 * @throws CatalogUnreachableError, ExtensionMissingError
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
    throw error;
  }
}

/** @throws CatalogUnreachableError nobody answers, or there is no warehouse yet */
export async function attachForReading(lake: LakeSettings, run: RunStatement): Promise<void> {
  await attachLake(run, { ...(await placeOf(lake)), dataPath: lake.dataPath }, { readOnly: true });
}

/** @throws CatalogUnreachableError nobody answers, or there is no warehouse yet */
export async function placeOf(lake: LakeSettings) {
  const address = readCatalogAddress(lake.catalog);
  const generation = await knownGeneration(address);
  if (generation === null) {
    throw new CatalogUnreachableError(address.shown, 'there is no warehouse yet; a worker makes it');
  }
  return { address, generation };
}

async function sharedInstance(path: string, lake: LakeSettings): Promise<Opened> {
  const { generation } = await placeOf(lake);
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
