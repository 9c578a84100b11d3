/**
 * The `reports.duckdb` of a lake has views and no rows. Other tools attach the lake first, with the statements in its table
 * `how_to_attach`. It contains no password: readers have their own role in PostgreSQL.
 */

import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DuckDBConnection, type DuckDBInstance, version as duckdbVersion } from '@duckdb/node-api';
import { openInstance } from '../../lib/duckdb-instance.ts';
import { rollBackAndClose } from '../../lib/duckdb-values.ts';
import { readingLimits } from '../../lib/files/damaged-database.ts';
import { temporaryName } from '../../lib/files/files.ts';
import { Database } from '../duckdb/database.ts';
import { commentsOf } from '../duckdb/schema.ts';
import type { Session } from '../duckdb/session.ts';
import { WarehouseError } from '../errors.ts';
import { flush } from '../write-publication.ts';
import {
  attachLake,
  attachStatements,
  catalogSecret,
  createViews,
  type ExtensionName,
  extensionCache,
  extensionsFor,
  GIVE_AGAIN_MS,
  giveS3Credentials,
  type LakePlace,
  loadExtensions,
  quoted,
  type RunStatement,
} from './attach-lake.ts';
import { type LakeSettings, readCatalogAddress } from './catalog-address.ts';
import { asAttachedError } from './catalog-errors.ts';
import { knownGeneration, publicationStamp } from './generation.ts';

/** Writes the file of views, replacing an existing one, while the lake is attached and access is not yet restricted. */
export async function writePointerFile(session: Session, path: string, place: LakePlace): Promise<void> {
  // Several sessions of one process may write at once, each to its own temporary file.
  const draft = temporaryName(dirname(path));
  try {
    await writeViews(session, draft, place);
    await chmod(draft, 0o600);
    await flush(draft);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  await flush(dirname(path));
}

async function writeViews(session: Session, draft: string, place: LakePlace): Promise<void> {
  const [before] = await session.statement("select current_setting('search_path') as path");
  await session.statement(`attach ${quoted(draft)} as pointer (storage_version 'v1.5.0')`);
  await session.statement('use pointer');
  try {
    await createViews(session);
    await session.script(await commentsOf(session));
    await session.statement('create table how_to_attach (step integer not null, statement varchar not null)');
    for (const [index, statement] of howToAttach(place).entries()) {
      await session.statement(`insert into how_to_attach values (${index + 1}, ${quoted(statement)})`);
    }
  } finally {
    await session.statement('use memory');
    await session.statement(`set search_path = ${quoted(String(before?.path))}`);
    await session.statement('detach pointer');
  }
}

export async function touchPointerFile(path: string, now: Date): Promise<void> {
  await utimes(path, now, now);
}

function howToAttach(place: LakePlace): readonly string[] {
  const loads = extensionsFor(place.dataPath).map((name) => `load ${name}`);
  const attach = attachStatements(place, { libpq: place.address.libpq, readOnly: true, hasSecret: false });
  return [...loads, ...attach];
}

// One instance per process, because loading the extensions takes a second. Rows enter the lake before a ledger counts them, so a
// reader that first reads the ledgers and then the lake, in one transaction, finds every row that they count.

interface Opened {
  readonly file: string;
  readonly generation: number;
  readonly instance: Promise<DuckDBInstance>;
  /** Epoch milliseconds at which the bucket's credentials were given. */
  givenAt: number;
}

/** Every look begins with this statement, which fixes the ledgers before any row is read. */
const BEGIN_LOOK = `
  select generation, (select max(sequence) from internal.publication_log)
  from postgres_query('ledger', 'select generation from billsync.warehouse')`;

const opened = new Map<string, Opened>();

/** One consistent look at the warehouse. @param path of the file of views @throws catalog-unreachable, extension-missing */
export async function connectToLake(path: string, lake: LakeSettings): Promise<DuckDBConnection> {
  const known = opened.get(path);
  const connection = known?.file === (await fileAt(path)) ? await lookAt(known, lake) : null;
  // Without a connection, a rebuild has switched the generation, or there is no instance yet.
  return connection ?? (await lookAt(await openShared(path, lake), lake)) ?? connectToLake(path, lake);
}

async function lookAt(shared: Opened | undefined, lake: LakeSettings): Promise<DuckDBConnection | null> {
  if (shared === undefined) return null;
  const connection = await (await shared.instance).connect();
  try {
    if (Date.now() - shared.givenAt > GIVE_AGAIN_MS) {
      await giveS3Credentials((statement) => connection.run(statement), lake.dataPath);
      shared.givenAt = Date.now();
    }
    await connection.run('begin transaction');
    const [[generation] = []] = (await connection.runAndReadAll(BEGIN_LOOK)).getRows();
    if (generation === shared.generation) return connection;
    await rollBackAndClose(connection);
    return null;
  } catch (error) {
    await rollBackAndClose(connection);
    throw asAttachedError(error, readCatalogAddress(lake.catalog));
  }
}

export async function attachForReading(lake: LakeSettings, run: RunStatement): Promise<void> {
  await attachLake(run, await placeOf(lake), { readOnly: true });
}

/** @throws catalog-unreachable, no-lake-yet */
export async function placeOf(lake: LakeSettings): Promise<LakePlace> {
  const address = readCatalogAddress(lake.catalog);
  const generation = await knownGeneration(address);
  if (generation === null) throw new WarehouseError('no-lake-yet', [address.printable]);
  return { address, dataPath: lake.dataPath, generation };
}

async function openShared(path: string, lake: LakeSettings): Promise<Opened> {
  const place = await placeOf(lake);
  const { generation } = place;
  await makePointerFile(path, place);
  const file = (await fileAt(path)) ?? '';
  const known = opened.get(path);
  if (known?.file === file && known.generation === generation) return known;
  const instance = openLake(path, lake);
  const fresh: Opened = { file, generation, instance, givenAt: Date.now() };
  opened.set(path, fresh);
  instance.catch(() => {
    if (opened.get(path) === fresh) opened.delete(path);
  });
  // Closing the previous instance does not disturb its readers: DuckDB closes it with its last connection.
  known?.instance.then((before) => before.closeSync()).catch(() => undefined);
  return fresh;
}

async function fileAt(path: string): Promise<string | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found === null ? null : `${found.dev}/${found.ino}`;
}

const stamps = new Map<string, string>();

/** Takes notice of a publication of another machine. @throws catalog-unreachable */
export async function noticePublication(path: string, lake: LakeSettings): Promise<void> {
  const stamp = await publicationStamp(readCatalogAddress(lake.catalog));
  const before = stamps.get(path);
  if (stamp === null || stamp === before) return;
  stamps.set(path, stamp);
  if (before !== undefined) await touchPointerFile(path, new Date());
}

const making = new Map<string, Promise<void>>();
const made = new Map<string, number>();

/** Writes the file of views on a machine without a worker, and replaces that of an earlier generation. */
export async function makePointerFile(path: string, place: LakePlace): Promise<void> {
  if (made.get(path) === place.generation && existsSync(path)) return;
  const work = making.get(path) ?? writeOwnPointerFile(path, place);
  making.set(path, work);
  try {
    await work;
    made.set(path, place.generation);
  } catch (error) {
    // Without write access to the folder, the file that a worker has written is used.
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
      await createViews(session);
      await writePointerFile(session, path, place);
    },
  });
  database.close();
}

async function generationOf(path: string): Promise<number | null> {
  const instance = await openInstance(path, { access_mode: 'READ_ONLY' });
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

async function openLake(path: string, lake: LakeSettings): Promise<DuckDBInstance> {
  const instance = await openInstance(path, { access_mode: 'READ_ONLY', ...readingLimits(path) });
  const connection = await instance.connect();
  try {
    const run: RunStatement = (statement) => connection.run(statement);
    await attachForReading(lake, run);
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

// The statements contain the catalogue's password and the bucket's credentials, so their file is readable by its user only.

/** @param shellVersion e.g. `1.5.5`: extensions fit one version @throws catalog-unreachable, no-lake-yet */
export async function shellStatements(lake: LakeSettings, shellVersion: string): Promise<readonly string[]> {
  const place = await placeOf(lake);
  const statements = extensionsFor(lake.dataPath).flatMap((name) => loadingOf(name, shellVersion));
  await giveS3Credentials(async (statement) => statements.push(statement), lake.dataPath);
  const attaching = attachStatements(place, { libpq: place.address.libpq, readOnly: true, hasSecret: true });
  return [...statements, catalogSecret(place.address), ...attaching];
}

/** Loads an extension from billsync's cache when the shell has the same version. */
function loadingOf(name: ExtensionName, shellVersion: string): readonly string[] {
  const cached = join(extensionCache(duckdbVersion()), `${name}.duckdb_extension`);
  const fits = duckdbVersion().replace(/^v/, '') === shellVersion && existsSync(cached);
  return fits ? [`load ${quoted(cached)}`] : [`install ${name}`, `load ${name}`];
}

/** Reads the lake for `doctor`. @returns one line without secrets */
export async function checkLake(lake: LakeSettings): Promise<string> {
  const { printable } = readCatalogAddress(lake.catalog);
  const generation = await knownGeneration(readCatalogAddress(lake.catalog));
  const instance = await openInstance(':memory:');
  try {
    const connection = await instance.connect();
    const run = (statement: string): Promise<unknown> => connection.run(statement);
    if (generation === null) {
      await loadExtensions(run, extensionsFor(lake.dataPath));
      return `lake at ${printable}, data in ${lake.dataPath}; no warehouse yet, a worker makes it`;
    }
    await attachForReading(lake, run);
    const counted = await connection.runAndReadAll('select count(*)::integer as n from lake.shipment_rows');
    const [{ n } = { n: 0 }] = counted.getRowObjectsJson();
    connection.closeSync();
    return `lake at ${printable}, generation ${generation}, ${n} rows in ${lake.dataPath}`;
  } finally {
    instance.closeSync();
  }
}
