/**
 * Every transaction first checks that its generation is the current one, then locks its invoices, so that no two processes derive one
 * invoice at the same time. Advisory locks end with their transaction or connection: a killed process leaves none.
 */

import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createSemaphore } from '../../lib/semaphore.ts';
import { statementsIn } from '../../lib/sql-file.ts';
import { wellFormedJson } from '../../lib/wire/json.ts';
import { type Migration, migrationsIn, sql, withCsvColumns } from '../duckdb/sql.ts';
import { checkNames, type Ledgers, type Params, type Row, type Statements } from '../duckdb/statements.ts';
import { WarehouseError } from '../errors.ts';
import type { CatalogAddress } from './catalog-address.ts';
import { asCatalogError, messageOf, unreachable } from './catalog-errors.ts';

export interface LedgerStatement {
  readonly text: string;
  readonly names: readonly string[];
}

const ledgerTexts = new Map<string, LedgerStatement>();
const rowTexts = new Map<string, string>();

/** The statement of ledger.sql, else of warehouse/sql; its `$names` are numbered in order of appearance. */
export function ledgerStatement(name: string, generation: number): LedgerStatement {
  const key = `${generation} ${name}`;
  let known = ledgerTexts.get(key);
  if (known === undefined) {
    const names: string[] = [];
    const own = inSchema(ownOrShared('ledger', name), generation);
    const text = own.replaceAll(/\$([a-z_0-9]+)/g, (_found, parameter: string) => {
      if (!names.includes(parameter)) names.push(parameter);
      return `$${names.indexOf(parameter) + 1}`;
    });
    known = { text, names };
    ledgerTexts.set(key, known);
  }
  return known;
}

export function ledgerValues({ text, names }: LedgerStatement, params: Params): (string | null)[] {
  checkNames(text, new Set(names), params);
  return names.map((name) => {
    const value = params[name];
    return value === null ? null : String(value);
  });
}

/** The statement of rows.sql, else of warehouse/sql; rows are inserted into, and removed from, the table of the lake. */
export function rowStatement(name: string): string {
  let text = rowTexts.get(name);
  if (text === undefined) {
    text = ownOrShared('rows', name).replace(
      /\b(into|delete from) shipment_rows\b/,
      '$1 lake.main.shipment_rows',
    );
    rowTexts.set(name, text);
  }
  return text;
}

function ownOrShared(file: 'ledger' | 'rows', name: string): string {
  const own = statementsIn(new URL(`./${file}.sql`, import.meta.url)).get(name);
  return own === undefined ? sql(name) : withCsvColumns(own);
}

export function ledgerMigrations(generation: number): readonly Migration[] {
  return MIGRATIONS.map((migration) => ({ ...migration, text: inSchema(migration.text, generation) }));
}

const MIGRATIONS = migrationsIn(new URL('./migrations/', import.meta.url));

function namesOf(kind: string): string {
  const made = MIGRATIONS.flatMap(({ text }) => [...text.matchAll(RegExp(`create ${kind} (\\w+)`, 'g'))]);
  return made.map(([, name]) => name).join('|');
}

const TABLES = RegExp(
  `(?<=\\b(?:from|join|into|update|table|exists|on|sequence)\\s+|null::|(?:next|set)val\\(')(?:${namesOf('(?:table|sequence)')}|schema_migrations|\\{table\\})(?![\\w.])`,
  'g',
);
const FUNCTIONS = RegExp(`(?<![\\w.])(?:${namesOf('function')})(?=\\()`, 'g');

/** A pooler may drop the search path in silence, so it is empty, and each name of the ledgers has its schema. */
function inSchema(text: string, generation: number): string {
  return text
    .replaceAll(TABLES, `${ledgerSchema(generation)}.$&`)
    .replaceAll(FUNCTIONS, `${ledgerSchema(generation)}.$&`);
}

/** First number of an advisory lock; the second is the generation or the load. */
export const LOCK = {
  /** All writers share this lock; a process that switches the generation has it alone. */
  generation: 8_150,
  /** Writers of single invoices share this lock; a large batch has it alone. */
  invoices: 8_151,
  /** Every open writer shares this lock; a rebuild has it alone. */
  presence: 8_152,
  opening: 8_153,
  ingest: 8_154,
  publish: 8_155,
  /** DuckLake commits one at a time, and waiting costs less than a conflict. */
  commit: 8_156,
  tidy: 8_157,
  /** The lock of a load in progress, by the id of the load. */
  load: 8_158,
  /** The process that asks the service about announced files has this lock. */
  confirm: 8_159,
} as const;

/** Only a single file needs these statements: keys of the ledgers find events and stop two writers. */
const WITHOUT_QUERY: ReadonlyMap<string, readonly Row[]> = new Map([
  ['are-events-known', [{}]],
  ['claim-events', []],
  ['claim-invoices', []],
]);
const SINGLE_INVOICES = 50;
/** The presence and the locks of ingest, tidying and confirmation, the load in progress, everything else. DuckDB has its own (attach-lake.ts). */
const CONNECTIONS = 3;
const CONNECT_MS = 15_000;
/** An unused connection is closed soon, so that another process that starts finds a free slot of PostgreSQL. */
const UNUSED_MS = 2_000;
/** A connection in use sends a query four times within this time; PostgreSQL ends that of a frozen process, with its locks. */
const IDLE_LIMIT_MS = 60_000;
const LOCK_LIMIT_MS = 10 * 60_000;
const PRESENT_AGAIN_MS = 1_000;
const BLOCKED_AFTER_MS = 20_000;
/** A connection and two statements take less, also over a line with a second each way. */
const ANSWER_MS = 10_000;

export interface LedgerTransaction extends Statements {
  /** The lock is held until the transaction ends. */
  lock(kind: keyof typeof LOCK, key: number): Promise<void>;
  tryLock(kind: keyof typeof LOCK, key: number): Promise<boolean>;
  script(text: string): Promise<void>;
}

export interface LedgerOnOne {
  all(name: string, params?: Params): Promise<readonly Row[]>;
  transaction<T>(work: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
}

interface Presence {
  /** Resolves when PostgreSQL has ended the connection of the presence, or when the presence was left. */
  readonly lost: Promise<void>;
  readonly leave: () => void;
}

export interface LedgerOptions {
  readonly generation: number;
  readonly role?: string | undefined;
  readonly isBeingMade?: boolean;
  readonly idleLimitMs?: number;
  readonly blockedAfterMs?: number;
  /** Called once when a rebuild has switched the generation: this process cannot write any more. */
  readonly onReplaced?: (error: WarehouseError) => void;
}

export class Ledger implements Ledgers {
  readonly generation: number;
  readonly #pool: pg.Pool;
  readonly #address: CatalogAddress;
  readonly #isBeingMade: boolean;
  readonly #idleLimitMs: number;
  readonly #blockedAfterMs: number;
  readonly #name: string;
  /** The connection of the presence, which one caller uses at a time; null while there is none. */
  #present: { readonly client: pg.PoolClient; readonly drop: () => void } | null = null;
  readonly #presentTurn = createSemaphore(1);
  #asking: Promise<string | null> | null = null;
  /** Epoch milliseconds of the first question that PostgreSQL has not answered; null while it answers. */
  #silentSinceMs: number | null = null;
  #onReplaced: ((error: WarehouseError) => void) | undefined;

  /**
   * @param options.role names this process in refusals
   * @param options.isBeingMade the generation of a rebuild, which is not current yet
   */
  constructor(address: CatalogAddress, options: LedgerOptions) {
    const { generation, role = 'worker', isBeingMade = false, idleLimitMs = IDLE_LIMIT_MS } = options;
    this.generation = generation;
    this.#idleLimitMs = idleLimitMs;
    this.#blockedAfterMs = options.blockedAfterMs ?? BLOCKED_AFTER_MS;
    this.#onReplaced = options.onReplaced;
    this.#name = applicationName(role);
    this.#address = address;
    this.#isBeingMade = isBeingMade;
    this.#pool = new pg.Pool({
      ...connectionOptions(address, role),
      ...{ max: CONNECTIONS, idleTimeoutMillis: UNUSED_MS },
      // The pool waits for these statements before it lends a connection.
      onConnect: (client) => prepareConnection(client, { address, generation, idleLimitMs }),
    });
    // The pool replaces a broken idle connection; without a listener the event would end the process.
    this.#pool.on('error', () => undefined);
  }

  async all(name: string, params: Params = {}): Promise<readonly Row[]> {
    return this.#with(async (client) => queryNamed(client, name, params));
  }

  async first(name: string, params: Params = {}): Promise<Row> {
    return only(name, await this.all(name, params));
  }

  /** @throws lake-replaced, and PostgreSQL's errors */
  transaction<T>(work: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    return this.#with((client, spoil) => this.#inTransaction(client, work, spoil));
  }

  /** @param invoiceIds locked by the transaction, in lower case */
  onInvoices<T>(
    invoiceIds: readonly string[],
    work: (transaction: LedgerTransaction) => Promise<T>,
  ): Promise<T> {
    return this.transaction(async (transaction) => {
      await holdInvoices(transaction, invoiceIds, this.generation);
      return work(transaction);
    });
  }

  /** The transactions of `work` are on the connection that holds the lock. */
  alone<T>(kind: 'ingest' | 'opening', work: (ledgers: LedgerOnOne) => Promise<T>): Promise<T> {
    const onClient = async (client: pg.PoolClient, spoil: (error: Error) => void): Promise<T> => {
      const lock = { class: LOCK[kind], key: this.generation };
      await queryNamed(client, 'lock-session', lock);
      try {
        return await work({
          all: (name, params) => queryNamed(client, name, params),
          transaction: (inside) => this.#inTransaction(client, inside, spoil),
        });
      } finally {
        // The lock ends with its connection, and an error of `work` is the one to report.
        await queryNamed(client, 'unlock-session', lock).catch(spoil);
      }
    };
    return kind === 'ingest' ? this.#withPresent(onClient) : this.#with(onClient);
  }

  /** @returns null when another process has the lock, or while the presence is lost */
  async unlessBusy<T>(kind: 'tidy' | 'confirm', work: () => Promise<T>): Promise<T | null> {
    // The lock would stay with a connection of the pool.
    if (this.#present === null) return null;
    const lock = { class: LOCK[kind], key: this.generation };
    const [row] = await this.#withPresent((client) => queryNamed(client, 'try-lock-session', lock));
    if (row?.is_mine !== true) return null;
    try {
      return await work();
    } finally {
      await this.#withPresent((client, spoil) => queryNamed(client, 'unlock-session', lock).catch(spoil));
    }
  }

  /**
   * Holds the presence until the result is called; `alone` succeeds only without other writers. A presence that PostgreSQL lost is
   * taken again. @returns null when there are other writers
   */
  async presence(how: 'shared' | 'alone'): Promise<(() => Promise<void>) | null> {
    let presence = await this.#bePresent(how);
    if (presence === null) return null;
    const leaving = new AbortController();
    const keep = async (): Promise<void> => {
      while (!leaving.signal.aborted) {
        await presence?.lost;
        if (leaving.signal.aborted) return;
        presence = await this.#bePresent(how).catch(() => null);
        // A rebuild may have started while the presence was lost.
        if (presence !== null) await this.transaction(async () => undefined).catch(() => undefined);
        else
          await sleep(PRESENT_AGAIN_MS, undefined, { ref: false, signal: leaving.signal }).catch(
            () => undefined,
          );
      }
    };
    const keeping = how === 'shared' ? keep() : Promise.resolve();
    return async () => {
      leaving.abort();
      presence?.leave();
      await keeping;
      presence?.leave();
    };
  }

  /** Does not return the connection to the pool: the lock ends with it. @returns null when there are other writers */
  async #bePresent(how: 'shared' | 'alone'): Promise<Presence | null> {
    const client = await this.#connect();
    const stopPinging = keepInUse(client, this.#idleLimitMs);
    const { promise: lost, resolve: lose } = Promise.withResolvers<void>();
    let isOver = false;
    const leave = (): void => {
      if (isOver) return;
      isOver = true;
      if (this.#present?.client === client) this.#present = null;
      void stopPinging();
      client.release(true);
      lose();
    };
    client.on('error', leave);
    try {
      const lock = { class: LOCK.presence, key: 0 };
      const [row] = await queryNamed(client, how === 'shared' ? 'stay-shared' : 'try-lock-session', lock);
      if (how === 'shared' && !isOver) this.#present = { client, drop: leave };
      if (how === 'shared' || row?.is_mine === true) return { lost, leave };
    } catch (error) {
      leave();
      throw error;
    }
    leave();
    return null;
  }

  /**
   * Names what this process has waited for too long: the processes that hold its locks, or PostgreSQL, which does not answer; null
   * when there is nothing.
   */
  async blockedBy(): Promise<string | null> {
    this.#asking ??= this.#holders().finally(() => {
      this.#asking = null;
    });
    const silence = sleep(Math.min(ANSWER_MS, this.#blockedAfterMs), undefined, { ref: false });
    const holders = await Promise.race([this.#asking.catch(() => undefined), silence]);
    if (holders !== undefined) {
      this.#silentSinceMs = null;
      return holders;
    }
    this.#silentSinceMs ??= Date.now();
    if (Date.now() - this.#silentSinceMs < this.#blockedAfterMs) return null;
    return `PostgreSQL, which has not answered since ${new Date(this.#silentSinceMs).toISOString()}`;
  }

  /**
   * PostgreSQL ends the ledger's connections of a frozen process; those of its DuckDB, which may be idle for as long as a load takes,
   * are ended here.
   */
  async #holders(): Promise<string | null> {
    const seconds = this.#blockedAfterMs / 1_000;
    await this.all('end-frozen-writers', { class: LOCK.presence, seconds });
    const found = await this.all('blocked-by', { name: this.#name, seconds });
    return found.length === 0 ? null : processesOf(found);
  }

  async others(): Promise<string> {
    const found = await this.all('others-present', { class: LOCK.presence, key: 0 });
    return processesOf(found);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #inTransaction<T>(
    client: pg.PoolClient,
    work: (transaction: LedgerTransaction) => Promise<T>,
    spoil: (error: Error) => void,
  ): Promise<T> {
    const begun = await query(
      client,
      `begin; set local lock_timeout = ${LOCK_LIMIT_MS}; select pg_backend_pid() as pid`,
    );
    try {
      // Another process of PostgreSQL than at the start of the session does not have the locks that the session took.
      if (rowOfLast(begun)?.pid !== sessions.get(client)?.pid) throw notASession(this.#address);
      if (!this.#isBeingMade) await this.#holdGeneration(client);
      const result = await work(transactionOn(client));
      await query(client, 'commit');
      return result;
    } catch (error) {
      // The rollback may fail, because a lost connection ends the transaction too; the first error is the one to report.
      await query(client, 'rollback').catch(spoil);
      throw error;
    }
  }

  async #holdGeneration(client: pg.PoolClient): Promise<void> {
    await queryNamed(client, 'lock-shared', { class: LOCK.generation, key: 0 });
    const [found] = await queryNamed(client, 'read-pointer');
    if (found?.generation === this.generation) return;
    const replaced = new WarehouseError('lake-replaced', [
      found === undefined ? 'unknown' : Number(found.generation),
      this.generation,
    ]);
    this.#onReplaced?.(replaced);
    this.#onReplaced = undefined;
    throw replaced;
  }

  /** Uses the connection of the presence, or another one in a process without presence, such as a rebuild. */
  #withPresent<T>(work: (client: pg.PoolClient, spoil: (error: Error) => void) => Promise<T>): Promise<T> {
    return this.#presentTurn(() => {
      const present = this.#present;
      return present === null ? this.#with(work) : work(present.client, present.drop);
    });
  }

  /** @param work receives a function that marks the connection as broken */
  async #with<T>(work: (client: pg.PoolClient, spoil: (error: Error) => void) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let broken: Error | undefined;
    const onBroken = (error: Error): void => {
      broken = error;
    };
    client.on('error', onBroken);
    const stopPinging = keepInUse(client, this.#idleLimitMs);
    try {
      return await work(client, onBroken);
    } finally {
      await stopPinging();
      client.off('error', onBroken);
      client.release(broken);
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw error instanceof WarehouseError ? error : unreachable(this.#address, error);
    }
  }
}

/** The name of a connection in pg_stat_activity, which keeps 63 bytes. */
export function applicationName(role: string): string {
  return `billsync ${role} ${hostname().slice(0, 30)} pid ${process.pid}`;
}

export function connectionOptions(address: CatalogAddress, role: string): pg.PoolConfig {
  return {
    ...address.pool,
    connectionTimeoutMillis: CONNECT_MS,
    ...{ keepAlive: true, keepAliveInitialDelayMillis: 30_000 },
    application_name: applicationName(role),
  };
}

export function ledgerSchema(generation: number): string {
  return `billsync_${generation}`;
}

export async function holdInvoices(
  transaction: LedgerTransaction,
  invoiceIds: readonly string[],
  generation: number,
): Promise<void> {
  if (invoiceIds.length > SINGLE_INVOICES) return transaction.lock('invoices', generation);
  await transaction.all('lock-shared', { class: LOCK.invoices, key: generation });
  if (invoiceIds.length > 0) {
    await transaction.all('lock-invoices', { invoice_ids: invoiceIds.join(',') });
  }
}

function transactionOn(client: pg.PoolClient): LedgerTransaction {
  return {
    all: (name, params) => queryNamed(client, name, params),
    first: async (name, params) => only(name, await queryNamed(client, name, params)),
    async insert(table, rows) {
      const columns = Object.keys(rows[0] ?? {})
        .sort()
        .join(', ');
      const { text } = ledgerStatement('insert-rows', generationOf(client));
      const statement = text.replaceAll('{table}', table).replaceAll('{columns}', columns);
      await query(client, { name: `insert ${table}`, text: statement, values: [wellFormedJson(rows)] });
    },
    async lock(kind, key) {
      await queryNamed(client, 'lock', { class: LOCK[kind], key });
    },
    async tryLock(kind, key) {
      const [row] = await queryNamed(client, 'try-lock', { class: LOCK[kind], key });
      return row?.is_mine === true;
    },
    async script(text) {
      await query(client, text);
    },
  };
}

/** Runs a statement by its name, under which PostgreSQL plans it once per connection. */
async function queryNamed(client: pg.PoolClient, name: string, params: Params = {}): Promise<readonly Row[]> {
  const answer = WITHOUT_QUERY.get(name);
  if (answer !== undefined) return answer;
  const statement = ledgerStatement(name, generationOf(client));
  const values = ledgerValues(statement, params);
  return (await query(client, { name, text: statement.text, values })).rows;
}

const inUse = new WeakMap<pg.PoolClient, number>();
const pings = new WeakMap<pg.PoolClient, Promise<unknown>>();

/** Runs one statement at a time on a connection, also beside `keepInUse`. */
async function query(
  client: pg.PoolClient,
  statement: string | pg.QueryConfig,
): Promise<pg.QueryResult<Row>> {
  inUse.set(client, (inUse.get(client) ?? 0) + 1);
  try {
    await pings.get(client);
    return await client.query<Row>(statement);
  } catch (error) {
    const session = sessions.get(client);
    throw session === undefined ? error : asCatalogError(error, session.address);
  } finally {
    inUse.set(client, (inUse.get(client) ?? 1) - 1);
  }
}

/** Pings a connection that is otherwise idle, so that only connections of frozen processes reach the idle limit. */
function keepInUse(client: pg.PoolClient, idleLimitMs: number): () => Promise<void> {
  const timer = setInterval(() => {
    if ((inUse.get(client) ?? 0) > 0 || pings.has(client)) return;
    // The next statement, or the connection's error event, reports a failure.
    const ping = client.query('select 1').catch(() => undefined);
    pings.set(client, ping);
    void ping.then(() => pings.delete(client));
  }, idleLimitMs / 4).unref();
  return async () => {
    clearInterval(timer);
    await pings.get(client);
  };
}

interface LedgerSession {
  readonly address: CatalogAddress;
  readonly generation: number;
  /** The pid of the connection's process of PostgreSQL. */
  readonly pid: unknown;
}

const sessions = new WeakMap<pg.ClientBase, LedgerSession>();

function generationOf(client: pg.ClientBase): number {
  const session = sessions.get(client);
  if (session === undefined) throw new Error('The connection was not prepared.');
  return session.generation;
}

/** Unqualified names of the ledgers are found nowhere, and texts and order do not depend on defaults of the role or the database. */
const SESSION = {
  search_path: 'pg_catalog',
  TimeZone: 'UTC',
  DateStyle: 'ISO, YMD',
  default_transaction_isolation: 'read committed',
};
/** Keepalives end the connections, and so the locks, of lost machines. A socket has none. */
const KEEPALIVES = {
  tcp_keepalives_idle: '20',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '60000',
};

/** By statements that are read back: a pooler may drop options of the start of a connection in silence. @throws catalog-pooled */
async function prepareConnection(
  client: pg.ClientBase,
  options: {
    readonly address: CatalogAddress;
    readonly generation: number;
    readonly idleLimitMs: number;
  },
): Promise<void> {
  const { address, generation, idleLimitMs } = options;
  // PostgreSQL ends the connections of a frozen process.
  const limit = String(idleLimitMs);
  const wanted = { ...SESSION, idle_in_transaction_session_timeout: limit, idle_session_timeout: limit };
  const setting = Object.entries({ ...wanted, ...KEEPALIVES }).map(
    ([name, value]) => `set ${name} = '${value}'`,
  );
  const names = Object.keys(wanted).map((name) => `'${name}'`);
  const reading = `select pg_backend_pid() as pid, json_object_agg(name, setting) as settings from pg_settings where name in (${names.join(', ')})`;
  const row = rowOfLast(await client.query<Row>([...setting, reading].join('; ')));
  const found = row?.settings as Readonly<Record<string, string>> | undefined;
  const differing = Object.entries(wanted).filter(([name, value]) => found?.[name] !== value);
  if (differing.length > 0) throw notASession(address);
  sessions.set(client, { address, generation, pid: row?.pid });
}

/** The last row of the last of several statements in one text, for which `pg` returns an array. */
function rowOfLast(result: pg.QueryResult<Row>): Row | undefined {
  return [result].flat().at(-1)?.rows[0];
}

function notASession(address: CatalogAddress): WarehouseError {
  return new WarehouseError('catalog-pooled', [address.printable]);
}

/**
 * Session locks fail without an error where a pooler gives one process of PostgreSQL to several sessions: while one session has a
 * transaction open, another one must find its process again. @throws catalog-pooled
 */
export async function requireSessions(
  address: CatalogAddress,
  one: pg.Client,
  other: pg.Client,
): Promise<void> {
  const pidOf = async (client: pg.Client): Promise<unknown> =>
    (await client.query<Row>('select pg_backend_pid() as pid')).rows[0]?.pid;
  const first = await pidOf(one);
  const second = await pidOf(one);
  await other.query('begin').catch((error: unknown) => {
    throw /not allowed/.test(messageOf(error)) ? notASession(address) : error;
  });
  await pidOf(other);
  const third = await pidOf(one);
  await other.query('rollback');
  if (first !== second || second !== third) throw notASession(address);
}

function processesOf(found: readonly Row[]): string {
  return found
    .map(({ name, client, since, pid }) => {
      const known = [client && `from ${client}`, since && `since ${since}`, `PostgreSQL's process ${pid}`];
      return `${name || 'another program'} (${known.filter(Boolean).join(', ')})`;
    })
    .join(' and ');
}

function only(name: string, [row]: readonly Row[]): Row {
  if (row === undefined) throw new Error(`${name}.sql returned no row.`);
  return row;
}
