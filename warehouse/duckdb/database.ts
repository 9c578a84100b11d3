/**
 * The one door to DuckDB: one instance per process and file, hardened, a few connections, errors told apart.
 *
 * Two instances on one file in one process both write and half of the rows are gone without an error, so this module
 * keeps count.
 */

import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { asDamage } from '../../lib/files/published-file.ts';
import { WarehouseError, warehouseCorrupt, warehouseLocked } from '../errors.ts';
import { Session } from './session.ts';
import { sql } from './sql.ts';
import type { Params, Row } from './statements.ts';

export interface DatabaseOptions {
  /** `:memory:` for one whose tables are attached. */
  readonly path: string;
  /** Folders that SQL may read and write; everything else is refused (hazard 17). */
  readonly folders: readonly string[];
  readonly temporaryFolder: string;
  /** As DuckDB writes it, e.g. `1GB`; null: DuckDB's own limit. */
  readonly memoryLimit: string | null;
  /** A copy for readers: what cannot be read of it is published again. */
  readonly readOnly?: boolean;
  /** Attaches what is not in the file, before nothing more may be reached. */
  readonly attach?: (session: Session) => Promise<void>;
  /** The text of a named statement, when some differ from `sql/`. */
  readonly statements?: (name: string) => string;
  /** 4 by default. */
  readonly connections?: number;
  /** Called once when DuckDB says that it cannot go on with this instance. */
  readonly onFatal?: (error: WarehouseError) => void;
}

/** Connections kept; who needs one more waits. Beyond four nothing is gained (measured). */
export const CONNECTIONS = 4;
/** Readable by DuckDB 1.5 and newer; an older storage version would replay a foreign WAL (hazard 14). */
const STORAGE_VERSION = 'v1.5.0';

const MEMORY = ':memory:';

/**
 * Where the tables behind the views lie, so that `show tables` in the published file shows what is safe to use; statements of
 * ours name them without it. `main` comes first: what is made without a schema is made there.
 */
const SEARCH_PATH = 'main,internal';

const openPaths = new Set<string>();

export class Database {
  readonly path: string;
  /** SQL may read here too. */
  readonly temporaryFolder: string;
  readonly #instance: DuckDBInstance;
  readonly #connections: number;
  readonly #isWriter: boolean;
  readonly #isCopy: boolean;
  readonly #onFatal: ((error: WarehouseError) => void) | undefined;
  readonly #statements: (name: string) => string;
  readonly #idle: Session[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #lent = new Set<Session>();
  #open = 0;
  #isClosed = false;
  #fatal: WarehouseError | null = null;

  private constructor(instance: DuckDBInstance, options: DatabaseOptions) {
    this.path = options.path === MEMORY ? MEMORY : resolve(options.path);
    this.temporaryFolder = options.temporaryFolder;
    this.#instance = instance;
    this.#connections = options.connections ?? CONNECTIONS;
    this.#isWriter = ownsFile(options);
    this.#isCopy = options.readOnly === true;
    this.#onFatal = options.onFatal;
    this.#statements = options.statements ?? sql;
  }

  /** @throws warehouse-locked, WarehouseError; DamagedFileError of a copy */
  static async open(options: DatabaseOptions): Promise<Database> {
    const path = options.path === MEMORY ? MEMORY : resolve(options.path);
    const isWriter = ownsFile(options);
    if (isWriter && openPaths.has(path)) {
      throw warehouseLocked(path, { pid: process.pid, role: 'this process' });
    }
    if (isWriter) openPaths.add(path);
    try {
      const instance = await DuckDBInstance.create(path, {
        storage_compatibility_version: STORAGE_VERSION,
        autoinstall_known_extensions: 'false',
        autoload_known_extensions: 'false',
        temp_directory: options.temporaryFolder,
        // It folds min, max and count of a table into the plan, and a kept statement then answers them for ever:
        // `(select max(sequence) …)` stayed at 3 while rows 4 to 9 were written, and publishing stopped.
        disabled_optimizers: 'statistics_propagation',
        // Of a join with up to so many keys only row groups that can have one are read, and rows that have one; 50 by default.
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

  /**
   * Lends a connection. Temporary tables and macros belong to it, so a load keeps one to its end.
   *
   * @throws database-closed
   */
  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (this.#fatal !== null) throw this.#fatal;
    if (this.#isClosed) throw new WarehouseError('database-closed', [this.path]);
    const session = await this.#borrow();
    try {
      return await work(session);
    } finally {
      this.#giveBack(session);
    }
  }

  /** BEGIN, work, COMMIT; on any error ROLLBACK and the error (a commit behind an error stores half, hazard 9). */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.use((session) => session.transaction(() => work(session)));
  }

  all(name: string, params?: Params): Promise<readonly Row[]> {
    return this.use((session) => session.all(name, params));
  }

  /**
   * Waits for nothing: callers have ended their work, and DuckDB folds its WAL into the file here. Who has not is told so
   * at his next statement, who waits for a connection at once; the file is let go when the last has given his back.
   */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const closed = new WarehouseError('database-closed', [this.path]);
    for (const { refuse } of this.#waiting.splice(0)) refuse(closed);
    for (const session of this.#lent) session.end(closed);
    for (const session of this.#idle.splice(0)) session.close();
    this.#letGo();
  }

  #letGo(): void {
    if (this.#lent.size > 0) return;
    this.#instance.closeSync();
    if (this.#isWriter) openPaths.delete(this.path);
  }

  async #borrow(): Promise<Session> {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      this.#lent.add(idle);
      return idle;
    }
    if (this.#open >= this.#connections) {
      return new Promise((lend, refuse) => this.#waiting.push({ lend, refuse }));
    }
    this.#open += 1;
    let session: Session | null = null;
    try {
      session = new Session(await this.#instance.connect(), {
        classify: (error) => this.#classify(error),
        statements: this.#statements,
      });
      this.#lent.add(session);
      await session.begin(SEARCH_PATH, !this.#isCopy);
      return session;
    } catch (error) {
      this.#open -= 1;
      if (session !== null) this.#lent.delete(session);
      throw this.#classify(error);
    }
  }

  #giveBack(session: Session): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next.lend(session);
      return;
    }
    this.#lent.delete(session);
    if (!this.#isClosed) this.#idle.push(session);
    else {
      session.close();
      this.#letGo();
    }
  }

  #classify(failure: unknown): unknown {
    // One file of a lake is not the warehouse: what else lies in it can still be read.
    const error = asDamage(failure, this.#isCopy ? this.path : undefined);
    if (error !== failure || !isFatal(error)) return error;
    if (this.#fatal === null) {
      this.#fatal = warehouseCorrupt(this.path, error);
      this.#onFatal?.(this.#fatal);
    }
    return this.#fatal;
  }
}

interface Waiting {
  readonly lend: (session: Session) => void;
  readonly refuse: (error: WarehouseError) => void;
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

/** A file has one writer per process; what only lies in memory has no file. */
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
  // What cannot be attached is not damage of a file.
  if (!(error instanceof Error) || error instanceof WarehouseError || path === MEMORY) return error;
  if (/could not set lock on file|conflicting lock/i.test(error.message)) {
    const [, program, pid] = /held in (.+?) \(PID (\d+)\)/.exec(error.message) ?? [];
    return warehouseLocked(path, pid === undefined ? null : `process ${pid} (${program})`);
  }
  const environment =
    /permission denied|no space left|read-only file system|too many open files|no such file|out of memory/i;
  if (environment.test(error.message)) return error;
  return readOnly ? asDamage(error, path) : warehouseCorrupt(path, error);
}

/** Of a warehouse that is not open. */
export async function removeDatabase(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}
