/** Two DuckDB instances on one file in one process lose rows without an error, so this module allows one. */

import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DuckDBInstance } from '@duckdb/node-api';
import { openInstance } from '../../lib/duckdb-instance.ts';
import { asDamage } from '../../lib/files/damaged-database.ts';
import { createSemaphore, type Semaphore } from '../../lib/semaphore.ts';
import { systemErrorIn } from '../../lib/system-errors.ts';
import { WarehouseError, warehouseFatal, warehouseLocked } from '../errors.ts';
import { Session } from './session.ts';
import { sql } from './sql.ts';
import type { Params, Row } from './statements.ts';

export interface DatabaseOptions {
  /** The path of the file; `:memory:` when all tables are attached. */
  readonly path: string;
  /** The folders that DuckDB may read and write; all others are refused (hazard 17). */
  readonly folders: readonly string[];
  readonly temporaryFolder: string;
  /** The memory limit in DuckDB's notation, e.g. `1GB`; null means DuckDB's own limit. */
  readonly memoryLimit: string | null;
  readonly readOnly?: boolean;
  readonly attach?: (session: Session) => Promise<void>;
  readonly statements?: (name: string) => string;
  readonly connections?: number;
  /** Names the cause of an error of an attached database. */
  readonly explain?: (error: unknown) => unknown;
  readonly onFatal?: (error: WarehouseError) => void;
}

/** Work on more connections is not faster (measured). */
export const CONNECTIONS = 4;
/** An older storage version would replay a foreign WAL (hazard 14). */
const STORAGE_VERSION = 'v1.5.0';

/** The path of a lake: all of its tables are attached. */
export const MEMORY = ':memory:';

/** Tables are in `internal`, so that `show tables` in the published file lists only the views, which are in `main`. */
const SEARCH_PATH = 'main,internal';

const openPaths = new Set<string>();

export class Database {
  readonly path: string;
  readonly temporaryFolder: string;
  readonly #instance: DuckDBInstance;
  readonly #options: DatabaseOptions;
  readonly #inTurn: Semaphore;
  readonly #idle: Session[] = [];
  readonly #lent = new Set<Session>();
  #isClosed = false;
  #fatal: WarehouseError | null = null;

  private constructor(instance: DuckDBInstance, options: DatabaseOptions) {
    this.path = options.path === MEMORY ? MEMORY : resolve(options.path);
    this.temporaryFolder = options.temporaryFolder;
    this.#instance = instance;
    this.#options = options;
    this.#inTurn = createSemaphore(options.connections ?? CONNECTIONS);
  }

  /** @throws warehouse-locked, WarehouseError; UnreadableFileError of a copy */
  static async open(options: DatabaseOptions): Promise<Database> {
    const path = options.path === MEMORY ? MEMORY : resolve(options.path);
    const isWriter = ownsFile(options);
    if (isWriter && openPaths.has(path)) {
      throw warehouseLocked(path, { pid: process.pid, role: 'this process' });
    }
    if (isWriter) openPaths.add(path);
    try {
      const instance = await openInstance(path, {
        storage_compatibility_version: STORAGE_VERSION,
        temp_directory: options.temporaryFolder,
        // This optimizer puts min, max and count of a table into the plan, so that a prepared statement returns outdated values.
        disabled_optimizers: 'statistics_propagation',
        // A join with up to this many keys (default 50) skips row groups without any of them.
        ...(isWriter ? { dynamic_or_filter_threshold: '1000' } : {}),
        ...(options.memoryLimit === null ? {} : { memory_limit: options.memoryLimit }),
        ...(options.readOnly === true ? { access_mode: 'READ_ONLY' } : {}),
      });
      await setSearchPath(instance, options);
      const database = new Database(instance, options);
      await database.use(async (session) => {
        await options.attach?.(session);
        await session.harden([...options.folders, options.temporaryFolder]);
      });
      return database;
    } catch (error) {
      if (isWriter) openPaths.delete(path);
      throw openingError(path, error, options);
    }
  }

  /** Lends a connection, which has its own temporary tables and macros. @throws database-closed */
  use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      if (this.#fatal !== null) throw this.#fatal;
      if (this.#isClosed) throw new WarehouseError('database-closed', [this.path]);
      const session = this.#idle.pop() ?? (await this.#connect());
      this.#lent.add(session);
      try {
        return await work(session);
      } finally {
        this.#giveBack(session);
      }
    });
  }

  /** Runs `work` in a transaction and rolls back on any error, since a commit after an error stores half (hazard 9). */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.use((session) => session.transaction(() => work(session)));
  }

  all(name: string, params?: Params): Promise<readonly Row[]> {
    return this.use((session) => session.all(name, params));
  }

  /** Later statements, also on lent connections, fail with `database-closed`; the file is closed with the last connection. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const closed = new WarehouseError('database-closed', [this.path]);
    for (const session of this.#lent) session.end(closed);
    for (const session of this.#idle.splice(0)) session.close();
    this.#closeFile();
  }

  #closeFile(): void {
    if (this.#lent.size > 0) return;
    this.#instance.closeSync();
    if (ownsFile(this.#options)) openPaths.delete(this.path);
  }

  async #connect(): Promise<Session> {
    let session: Session | undefined;
    try {
      const connection = await this.#instance.connect();
      session = new Session(connection, (error) => this.#classify(error), this.#options.statements ?? sql);
      this.#lent.add(session);
      await session.begin(SEARCH_PATH, this.#options.readOnly !== true);
      return session;
    } catch (error) {
      if (session !== undefined) this.#lent.delete(session);
      throw this.#classify(error);
    }
  }

  #giveBack(session: Session): void {
    this.#lent.delete(session);
    if (!this.#isClosed) this.#idle.push(session);
    else {
      session.close();
      this.#closeFile();
    }
  }

  #classify(failure: unknown): unknown {
    // A damaged file of a lake is not damage of the warehouse: the other files are readable.
    const error = asDamage(failure, this.#options.readOnly === true ? this.path : undefined);
    if (error !== failure) return error;
    if (!isFatal(error)) return this.#options.explain?.(error) ?? error;
    if (this.#fatal === null) {
      this.#fatal = warehouseFatal(this.path, error);
      this.#options.onFatal?.(this.#fatal);
    }
    return this.#fatal;
  }
}

async function setSearchPath(instance: DuckDBInstance, { readOnly }: DatabaseOptions): Promise<void> {
  const connection = await instance.connect();
  try {
    if (readOnly !== true) await connection.run('create schema if not exists internal');
    await connection.run(`set search_path = '${SEARCH_PATH}'`);
  } finally {
    connection.closeSync();
  }
}

function ownsFile(options: DatabaseOptions): boolean {
  return options.readOnly !== true && options.path !== MEMORY;
}

function isFatal(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^FATAL Error|database has been invalidated|^(?:IO|Serialization|INTERNAL) Error:.*(?:corrupt|checksum)/is.test(
      error.message,
    )
  );
}

function openingError(path: string, error: unknown, { readOnly = false }: DatabaseOptions): unknown {
  // An error of `attach` is not damage of the file.
  if (!(error instanceof Error) || error instanceof WarehouseError || path === MEMORY) return error;
  if (/could not set lock on file|conflicting lock/i.test(error.message)) {
    const [, program, pid] = /held in (.+?) \(PID (\d+)\)/.exec(error.message) ?? [];
    return warehouseLocked(path, pid === undefined ? null : `process ${pid} (${program})`);
  }
  if (systemErrorIn(error) !== null || /no such file|out of memory/i.test(error.message)) return error;
  return readOnly ? asDamage(error, path) : warehouseFatal(path, error);
}

/** The database must be closed when its files are removed. */
export async function removeDatabase(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}
