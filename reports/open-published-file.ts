/** Reads in a session that can reach nothing but the published file (hazard 17). */

import { stat } from 'node:fs/promises';
import type { DuckDBConnection, DuckDBResult, DuckDBResultReader, DuckDBValue } from '@duckdb/node-api';
import { jsonValue, rollBackAndClose } from '../lib/duckdb-values.ts';
import { asDamage, refuseLeftWal } from '../lib/files/damaged-database.ts';
import { statementsIn } from '../lib/sql-file.ts';
import { asOtherVersion, interrupted, ReportError } from './errors.ts';
import { connectShared, type FileCache, type OwnConnection } from './shared-instance.ts';

export type SessionRow = Readonly<Record<string, unknown>>;

export interface PublishedFile {
  readonly path: string;
  /** Runs a statement with values bound by name. A statement without values is planned once. */
  query(sql: string, values?: Readonly<Record<string, DuckDBValue>>): Promise<DuckDBResultReader>;
  /** Streams the rows; the session runs nothing else meanwhile. */
  stream(sql: string, values: Readonly<Record<string, DuckDBValue>>): Promise<DuckDBResult>;
  /** Runs a named statement of the folder `session/`. */
  run(name: string, values?: Readonly<Record<string, DuckDBValue>>): Promise<readonly SessionRow[]>;
  /** The rows of a statement that depends on no filter, which are read once for all sessions of the file. */
  cachedRows(name: string): Promise<readonly SessionRow[]>;
  /** A value that depends on the file alone and is computed once for all its sessions. */
  cached<T>(key: string, compute: () => Promise<T>): Promise<T>;
  readonly connection: DuckDBConnection;
  close(): void;
}

export const SHARED_FILES = sessionFiles(
  'shared/lines',
  'shared/invoices',
  'shared/prices',
  'shared/accruals',
);
/** A `-- name:` is used once in all files. */
const STATEMENT_FILES = [...sessionFiles('macros', 'lines', 'names', 'head'), ...SHARED_FILES];

function sessionFiles(...names: readonly string[]): readonly URL[] {
  return names.map((name) => new URL(`./session/${name}.sql`, import.meta.url));
}

export type Connect = () => Promise<DuckDBConnection>;

const connectionsElsewhere = new Map<string, Connect>();

/** For a lake, whose views need an attached catalog: reads of `path` use these connections. */
export function registerConnection(path: string, connect: Connect): void {
  connectionsElsewhere.set(path, connect);
}

/**
 * A reader keeps its view when the file is replaced. @throws ReportError there is no file, or `query` lacks a
 * table, view or column @throws UnreadableFileError a write-ahead log lies beside it, or it is damaged
 */
export async function openPublishedFile(path: string): Promise<PublishedFile> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    // With a lake, the connecting process creates the file.
    if (!connectionsElsewhere.has(path)) throw new ReportError('not-published', [path]);
    return null;
  });
  if (found?.isDirectory() === true)
    throw Object.assign(new Error('It is a folder.'), { code: 'EISDIR', path });
  await refuseLeftWal(path);
  const { connection, cache, close } = await connectTo(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'no-lake-yet')
      throw new ReportError('not-published', [path]);
    throw asDamage(error, path);
  });
  const fail = (error: unknown): never => {
    throw asDamage(asOtherVersion(error, path), path);
  };
  const bound = async (sql: string, values: Readonly<Record<string, DuckDBValue>>) => {
    const statement = await connection.prepare(sql);
    statement.bind({ ...values });
    return statement;
  };
  const query: PublishedFile['query'] = (sql, values = {}) => {
    if (Object.keys(values).length === 0) return connection.runAndReadAll(sql).catch(fail);
    return bound(sql, values)
      .then((statement) => statement.runAndReadAll())
      .catch(fail);
  };
  try {
    await addInternalSchema(connection);
    await connection.run(sessionStatement('macros'));
    const run: PublishedFile['run'] = async (name, values) =>
      (await query(sessionStatement(name), values)).convertRowObjects(jsonValue);
    const cached: PublishedFile['cached'] = (key, compute) => cachedValue(cache, key, compute);
    return {
      ...{ path, query, run, cached, connection, close },
      stream: (sql, values) =>
        bound(sql, values)
          .then((statement) => statement.stream())
          .catch(fail),
      cachedRows: (name) => cached(name, () => run(name)),
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Makes the tables behind the views visible. A foreign file has no such schema; its first query fails. */
async function addInternalSchema(connection: DuckDBConnection): Promise<void> {
  try {
    await connection.run("set search_path = 'main,internal'");
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('named "internal"'))) throw error;
  }
}

async function connectTo(path: string): Promise<OwnConnection> {
  const connect = connectionsElsewhere.get(path);
  if (connect !== undefined) {
    const connection = await connect();
    return { connection, cache: null, close: () => void rollBackAndClose(connection) };
  }
  return connectShared(path);
}

function sessionStatement(name: string): string {
  for (const file of STATEMENT_FILES) {
    const statement = statementsIn(file).get(name);
    if (statement !== undefined) return statement;
  }
  throw new Error(`There is no statement "${name}" in reports/session/.`);
}

/** @param cache null when the file may change, so that nothing is kept */
function cachedValue<T>(cache: FileCache | null, key: string, compute: () => Promise<T>): Promise<T> {
  const start = (): Promise<T> => {
    const value = compute();
    cache?.set(key, value);
    return value;
  };
  const known = cache?.get(key) as Promise<T> | undefined;
  // The session that computed it first may have been interrupted.
  return known?.catch(start) ?? start();
}

export interface TimeLimit {
  readonly file: Pick<PublishedFile, 'connection'>;
  readonly name: string;
  readonly timeLimitMs: number;
  /** The deadline in milliseconds since the epoch, which several calls may share. */
  readonly deadline: number;
}

/** Node runs a longer timer after 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** interrupt() stops only the present statement, so it is repeated. */
const INTERRUPT_EVERY_MS = 20;

/** @throws ReportError the limit ran out before `work` ended */
export async function withTimeLimit<T>(limit: TimeLimit, work: () => Promise<T>): Promise<T> {
  let ranOut = false;
  let repeated: NodeJS.Timeout | undefined;
  const timer = setTimeout(
    () => {
      ranOut = true;
      limit.file.connection.interrupt();
      repeated = setInterval(() => limit.file.connection.interrupt(), INTERRUPT_EVERY_MS);
    },
    Math.min(Math.max(0, limit.deadline - Date.now()), MAX_TIMER_MS),
  );
  try {
    const answer = await work();
    // Short statements may have ended between two interrupts.
    if (!ranOut) return answer;
  } catch (error) {
    if (!ranOut) throw error;
  } finally {
    clearTimeout(timer);
    clearInterval(repeated);
  }
  throw interrupted(limit.name, limit.timeLimitMs);
}
