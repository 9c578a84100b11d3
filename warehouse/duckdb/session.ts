import { resolve } from 'node:path';
import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBValue } from '@duckdb/node-api';
import { jsonValue } from '../../lib/duckdb-values.ts';
import { countedCall } from '../../lib/health/native-calls.ts';
import { retry } from '../../lib/retry.ts';
import { wellFormedJson } from '../../lib/wire/json.ts';
import { sql } from './sql.ts';
import { checkNames, type Params, type Row, type Statements } from './statements.ts';

/** The limit is never reached: one retry is nearly always enough (measured). */
const CHECKPOINT_ATTEMPTS = 200;
const CHECKPOINT_PAUSE_MS = 5;

interface Prepared {
  readonly prepared: DuckDBPreparedStatement;
  readonly names: ReadonlySet<string>;
}

export class Session implements Statements {
  readonly #connection: DuckDBConnection;
  readonly #classify: (error: unknown) => unknown;
  readonly #statements: (name: string) => string;
  readonly #prepared = new Map<string, Prepared>();

  #ended: Error | null = null;

  constructor(
    connection: DuckDBConnection,
    classify: (error: unknown) => unknown,
    statements: (name: string) => string,
  ) {
    this.#connection = connection;
    this.#classify = classify;
    this.#statements = statements;
  }

  async begin(searchPath: string, loads: boolean): Promise<void> {
    await this.#connection.run(`set search_path = '${searchPath}'`);
    await this.#connection.runAndReadAll(sql('session'));
    if (loads) await this.#connection.runAndReadAll(sql('csv-session'));
  }

  /**
   * Locks the settings, which no statement can undo. The number of threads is fixed too: changing it during a scan of a lake
   * deadlocks DuckDB 1.5.
   */
  async harden(folders: readonly string[]): Promise<void> {
    const list = folders.map((folder) => `'${reachable(folder).replaceAll("'", "''")}'`).join(', ');
    await this.#connection.run(`set allowed_directories = [${list}]`);
    await this.#connection.run('set enable_external_access = false');
    await this.#connection.run('set lock_configuration = true');
  }

  /** Runs a statement; decimals, big integers and instants are text in its rows. */
  all(name: string, params: Params = {}): Promise<readonly Row[]> {
    return this.statement(this.#statements(name), params);
  }

  /** Plans the statement each time, for functions that read their tables during planning, as DuckLake's do. */
  async once(name: string, params: Params = {}, limitMs?: number): Promise<readonly Row[]> {
    const text = this.#statements(name);
    try {
      return await this.statement(text, params, limitMs);
    } finally {
      this.#prepared.get(text)?.prepared.destroySync();
      this.#prepared.delete(text);
    }
  }

  async first(name: string, params: Params = {}): Promise<Row> {
    const [row] = await this.all(name, params);
    if (row === undefined) throw new Error(`The statement ${name} returned no row.`);
    return row;
  }

  async insert(table: string, rows: readonly object[]): Promise<void> {
    const columns = Object.keys(rows[0] ?? {})
      .sort()
      .map((column) => [column, 'VARCHAR']);
    const structure = JSON.stringify([Object.fromEntries(columns)]);
    const text = sql('insert-rows').replace('{table}', table).replace('{structure}', structure);
    await this.statement(text, { rows: wellFormedJson(rows) });
  }

  async statement(text: string, params: Params = {}, limitMs?: number): Promise<readonly Row[]> {
    if (this.#ended !== null) throw this.#ended;
    try {
      const { prepared, names } = await this.#prepare(text);
      prepared.clearBindings();
      checkNames(text, names, params);
      if (names.size > 0) prepared.bind(params as Record<string, DuckDBValue>);
      const read = await countedCall(text, () => prepared.runAndReadAll(), limitMs);
      return read.convertRowObjects(jsonValue) as Row[];
    } catch (error) {
      this.#prepared.get(text)?.prepared.destroySync();
      this.#prepared.delete(text);
      throw this.#classify(error);
    }
  }

  async #prepare(text: string): Promise<Prepared> {
    let known = this.#prepared.get(text);
    if (known === undefined) {
      const prepared = await countedCall(text, () => this.#connection.prepare(text));
      const numbers = Array.from({ length: prepared.parameterCount }, (_, index) => index + 1);
      known = { prepared, names: new Set(numbers.map((number) => prepared.parameterName(number))) };
      this.#prepared.set(text, known);
    }
    return known;
  }

  /**
   * The checkpoint is repeated, because DuckDB refuses it while another connection cleans up a committed transaction. The caller
   * excludes writers.
   */
  async checkpoint(): Promise<void> {
    await retry(() => this.statement('checkpoint'), {
      ...{ attempts: CHECKPOINT_ATTEMPTS, pauseMs: CHECKPOINT_PAUSE_MS },
      passes: isRefusedCheckpoint,
    });
  }

  async script(text: string): Promise<void> {
    if (this.#ended !== null) throw this.#ended;
    try {
      await countedCall(text, () => this.#connection.runAndReadAll(text));
    } catch (error) {
      throw this.#classify(error);
    }
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.statement('begin transaction');
    try {
      const result = await work();
      await this.statement('commit');
      return result;
    } catch (error) {
      // The rollback also follows a failed commit, because a connection must not be closed inside a transaction. It fails if the
      // commit has ended the transaction.
      await countedCall('rollback', () => this.#connection.run('rollback')).catch(() => undefined);
      throw error;
    }
  }

  end(error: Error): void {
    this.#ended = error;
  }

  close(): void {
    for (const { prepared } of this.#prepared.values()) prepared.destroySync();
    this.#prepared.clear();
    this.#connection.closeSync();
  }
}

/** DuckDB compares folders with a slash at the end. */
function reachable(folder: string): string {
  return folder.includes('://') ? `${folder.replace(/\/+$/, '')}/` : `${resolve(folder)}/`;
}

function isRefusedCheckpoint(error: unknown): boolean {
  return error instanceof Error && error.message.includes('there are other write transactions active');
}
