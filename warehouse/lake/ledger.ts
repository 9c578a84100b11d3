/**
 * The ledgers of a lake, in PostgreSQL: what makes a load count, for many writers at once.
 *
 * Every transaction first makes sure that the generation it writes to is still the one that counts, then holds the
 * invoices it is about, so that no two processes derive one invoice at the same time. Locks are PostgreSQL's advisory
 * ones and end with their transaction or connection: a killed process leaves none.
 */

import { hostname } from 'node:os';
import pg from 'pg';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { Ledgers, Params, Row, Statements } from '../duckdb/statements.ts';
import { WarehouseError } from '../errors.ts';
import { type CatalogAddress, withoutPassword } from './catalog-address.ts';
import { ledgerStatement, ledgerValues } from './lake-statements.ts';

/** First number of a lock: ours, of what kind. The second is the generation, or a load. */
export const LOCK = {
  /** Held by all who write; alone by who puts another generation in place. */
  generation: 8_150,
  /** Held by all who write to single invoices; alone by who takes in a large batch. */
  invoices: 8_151,
  /** Held by every open writer for as long as it is open; a rebuild wants it alone. */
  presence: 8_152,
  opening: 8_153,
  ingest: 8_154,
  publish: 8_155,
  /** Around the commit of rows: the lake's commits follow each other anyway, waiting costs less than a conflict. */
  commit: 8_156,
  tidy: 8_157,
  /** Held while a load is in flight, by its id. */
  load: 8_158,
} as const;

/** Statements that only a single file needs, with their answer for a lake: keys of the ledgers find events and stop two writers. */
const WITHOUT_QUERY: ReadonlyMap<string, readonly Row[]> = new Map([
  ['are-events-known', [{}]],
  ['claim-events', []],
  ['claim-invoices', []],
]);
/** Above, a batch takes all invoices at once instead of each. */
const SINGLE_INVOICES = 50;
/**
 * One keeps the presence and the locks of ingest and tidying, one is for the load in progress, one for everything else. DuckDB
 * has its own (attach-lake.ts).
 */
const CONNECTIONS = 3;
const CONNECT_MS = 15_000;
/** A connection that is in use is asked something four times within this; of a frozen process PostgreSQL ends it then, with its locks. */
const IDLE_LIMIT_MS = 60_000;
/** `lock_timeout` of a transaction: longer than any commit. */
const LOCK_LIMIT_MS = 10 * 60_000;
/** After a lost connection. */
const PRESENT_AGAIN_MS = 1_000;
/** A wait for a lock of another process is reported after that. */
const BLOCKED_AFTER_MS = 20_000;

export interface LedgerTransaction extends Statements {
  /** Waits for it; held until the transaction ends. */
  lock(kind: keyof typeof LOCK, key: number): Promise<void>;
  tryLock(kind: keyof typeof LOCK, key: number): Promise<boolean>;
  /** Several statements of a file of ours, without values (migrations). */
  script(text: string): Promise<void>;
}

/** Statements and transactions of one connection. */
export interface LedgerOnOne {
  all(name: string, params?: Params): Promise<readonly Row[]>;
  transaction<T>(work: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
}

export interface LedgerOptions {
  readonly generation: number;
  readonly role?: string;
  readonly isBeingMade?: boolean;
  /** 60 seconds by default. */
  readonly idleLimitMs?: number;
  /** 20 seconds by default. */
  readonly blockedAfterMs?: number;
  /** A rebuild put another generation in place: called once, nothing can be written any more. */
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
  /** The connection of the presence, one user at a time; null while there is none. */
  #present: { readonly client: pg.PoolClient; readonly drop: () => void } | null = null;
  readonly #presentTurn = createSemaphore(1);
  #onReplaced: ((error: WarehouseError) => void) | undefined;

  /**
   * @param options.role by which a refusal names this process
   * @param options.isBeingMade a rebuild's, which does not count yet
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
      ...address.pool,
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_MS,
      ...{ keepAlive: true, keepAliveInitialDelayMillis: 30_000 },
      application_name: this.#name,
      options: `-c search_path=${ledgerSchema(generation)} -c timezone=UTC ${limitsOf(idleLimitMs)}`,
    });
    // An idle connection that breaks is replaced; without a listener it would end the process.
    this.#pool.on('error', () => undefined);
  }

  async all(name: string, params: Params = {}): Promise<readonly Row[]> {
    return this.#with(async (client) => ask(client, name, params));
  }

  async first(name: string, params: Params = {}): Promise<Row> {
    return only(name, await this.all(name, params));
  }

  /** @throws lake-replaced, and what PostgreSQL throws */
  transaction<T>(work: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    return this.#with((client, spoil) => this.#inTransaction(client, work, spoil));
  }

  /** A transaction that holds these invoices, in lower case. */
  onInvoices<T>(
    invoiceIds: readonly string[],
    work: (transaction: LedgerTransaction) => Promise<T>,
  ): Promise<T> {
    return this.transaction(async (transaction) => {
      await holdInvoices(transaction, invoiceIds, this.generation);
      return work(transaction);
    });
  }

  /** Runs `work` while no other process holds the lock; its transactions are on the connection that holds it. */
  alone<T>(kind: 'ingest' | 'opening', work: (ledgers: LedgerOnOne) => Promise<T>): Promise<T> {
    const onClient = async (client: pg.PoolClient, spoil: (error: Error) => void): Promise<T> => {
      const lock = { class: LOCK[kind], key: this.generation };
      await ask(client, 'lock-session', lock);
      try {
        return await work({
          all: (name, params) => ask(client, name, params),
          transaction: (inside) => this.#inTransaction(client, inside, spoil),
        });
      } finally {
        // The lock ends with its connection, and an error of `work` is the one to report.
        await ask(client, 'unlock-session', lock).catch(spoil);
      }
    };
    return kind === 'ingest' ? this.#withPresent(onClient) : this.#with(onClient);
  }

  /** Runs `work` when no other process is tidying. @returns null when one is */
  async tidying<T>(work: () => Promise<T>): Promise<T | null> {
    const lock = { class: LOCK.tidy, key: this.generation };
    const [row] = await this.#withPresent((client) => ask(client, 'try-lock-session', lock));
    if (row?.is_mine !== true) return null;
    try {
      return await work();
    } finally {
      await this.#withPresent((client, spoil) => ask(client, 'unlock-session', lock).catch(spoil));
    }
  }

  /**
   * Says that a writer is here until it is released; `alone` succeeds only when nobody else is. A presence that PostgreSQL
   * lost, in a restart, is taken again.
   *
   * @returns null when somebody is there
   */
  async presence(how: 'shared' | 'alone'): Promise<(() => Promise<void>) | null> {
    let leave = await this.#bePresent(how, () => void again());
    if (leave === null) return null;
    let isOver = false;
    let pause: NodeJS.Timeout | undefined;
    const again = async (): Promise<void> => {
      leave = null;
      if (isOver || how === 'alone') return;
      try {
        leave = await this.#bePresent('shared', () => void again());
        // While the presence was lost, a rebuild may have started.
        await this.transaction(async () => undefined);
      } catch {
        if (leave === null) pause = setTimeout(() => void again(), PRESENT_AGAIN_MS).unref();
      }
      if (isOver) await leave?.();
    };
    return async () => {
      isOver = true;
      clearTimeout(pause);
      await leave?.();
    };
  }

  async #bePresent(how: 'shared' | 'alone', onLost: () => void): Promise<(() => Promise<void>) | null> {
    const client = await this.#connect();
    const stopPinging = keepInUse(client, this.#idleLimitMs);
    let isOver = false;
    client.on('error', () => {
      if (isOver) return;
      isOver = true;
      if (this.#present?.client === client) this.#present = null;
      stopPinging();
      client.release(true);
      onLost();
    });
    const lock = { class: LOCK.presence, key: 0 };
    // Ended, not given back to the pool: with the connection goes the lock.
    const leave = async (): Promise<void> => {
      if (isOver) return;
      isOver = true;
      if (this.#present?.client === client) this.#present = null;
      stopPinging();
      client.release(true);
    };
    const asked = ask(client, how === 'shared' ? 'stay-shared' : 'try-lock-session', lock);
    const [row] = await asked.catch(async (error: unknown) => {
      await leave();
      throw error;
    });
    if (how === 'shared') this.#present = { client, drop: () => client.emit('error', new Error('broken')) };
    if (how === 'shared' || row?.is_mine === true) return leave;
    await leave();
    return null;
  }

  /** Which processes hold locks that this one has waited for, for a while; null: it does not wait. */
  async blockedBy(): Promise<string | null> {
    const found = await this.all('blocked-by', { name: this.#name, seconds: this.#blockedAfterMs / 1_000 });
    return found.length === 0 ? null : processesOf(found);
  }

  /** Who else is here, as far as PostgreSQL knows and may tell; empty when they have left meanwhile. */
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
    await query(client, `begin; set local lock_timeout = ${LOCK_LIMIT_MS}`);
    try {
      if (!this.#isBeingMade) await this.#holdGeneration(client);
      const result = await work(transactionOn(client));
      await query(client, 'commit');
      return result;
    } catch (error) {
      // When the connection is gone so is the transaction; the first error is the one that matters.
      await query(client, 'rollback').catch(spoil);
      throw error;
    }
  }

  async #holdGeneration(client: pg.PoolClient): Promise<void> {
    await ask(client, 'lock-shared', { class: LOCK.generation, key: 0 });
    const [found] = await ask(client, 'read-pointer');
    if (found?.generation === this.generation) return;
    const replaced = new WarehouseError('lake-replaced', [
      found === undefined ? 'unknown' : Number(found.generation),
      this.generation,
    ]);
    this.#onReplaced?.(replaced);
    this.#onReplaced = undefined;
    throw replaced;
  }

  /** On the connection of the presence; on another one while there is none, as in a rebuild. */
  #withPresent<T>(work: (client: pg.PoolClient, spoil: (error: Error) => void) => Promise<T>): Promise<T> {
    return this.#presentTurn(() => {
      const present = this.#present;
      return present === null ? this.#with(work) : work(present.client, present.drop);
    });
  }

  /** @param work is given a way to say that the connection must not be used again */
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
      throw unreachable(this.#address, error);
    }
  }
}

/** Shown in PostgreSQL's own lists of who is connected, which keep 63 bytes of it. */
export function applicationName(role: string): string {
  return `billsync ${role} ${hostname().slice(0, 30)} pid ${process.pid}`;
}

/** PostgreSQL's messages of `too_many_connections` (53300). */
const NO_FREE_CONNECTION = /too many (?:clients|connections)|remaining connection slots/i;

/** @returns catalog-unreachable or catalog-full, without the password */
export function unreachable(address: CatalogAddress, error: unknown): WarehouseError {
  const messages = error instanceof AggregateError ? error.errors.map(String) : [messageOf(error)];
  const problem = withoutPassword(messages.join('; '), address);
  const code = NO_FREE_CONNECTION.test(problem) ? 'catalog-full' : 'catalog-unreachable';
  return new WarehouseError(code, [address.shown, problem]);
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
    await transaction.all('lock-invoices', { invoice_ids: `[${invoiceIds.join(', ')}]` });
  }
}

function transactionOn(client: pg.PoolClient): LedgerTransaction {
  return {
    all: (name, params) => ask(client, name, params),
    first: async (name, params) => only(name, await ask(client, name, params)),
    async lock(kind, key) {
      await ask(client, 'lock', { class: LOCK[kind], key });
    },
    async tryLock(kind, key) {
      const [row] = await ask(client, 'try-lock', { class: LOCK[kind], key });
      return row?.is_mine === true;
    },
    async script(text) {
      await query(client, text);
    },
  };
}

/** Named, so that PostgreSQL plans each statement once per connection. */
async function ask(client: pg.PoolClient, name: string, params: Params = {}): Promise<readonly Row[]> {
  const answer = WITHOUT_QUERY.get(name);
  if (answer !== undefined) return answer;
  const statement = ledgerStatement(name);
  const values = ledgerValues(statement, params);
  return (await query(client, { name, text: statement.text, values })).rows;
}

const inUse = new WeakMap<pg.PoolClient, number>();
const pings = new WeakMap<pg.PoolClient, Promise<unknown>>();

/** One statement at a time on a connection, also beside `keepInUse`. */
async function query(
  client: pg.PoolClient,
  statement: string | pg.QueryConfig,
): Promise<pg.QueryResult<Row>> {
  inUse.set(client, (inUse.get(client) ?? 0) + 1);
  try {
    await pings.get(client);
    return await client.query<Row>(statement);
  } finally {
    inUse.set(client, (inUse.get(client) ?? 1) - 1);
  }
}

/** Asks a connection something when it has nothing else to do, so that only that of a frozen process is idle for long. */
function keepInUse(client: pg.PoolClient, idleLimitMs: number): () => Promise<void> {
  const timer = setInterval(() => {
    if ((inUse.get(client) ?? 0) > 0 || pings.has(client)) return;
    // The next statement and the connection's own event report a failure.
    const ping = client.query('select 1').catch(() => undefined);
    pings.set(client, ping);
    void ping.then(() => pings.delete(client));
  }, idleLimitMs / 4).unref();
  return async () => {
    clearInterval(timer);
    await pings.get(client);
  };
}

/** A lock is held as long as its connection: these end that of a process that is frozen, or whose machine is gone. */
function limitsOf(idleLimitMs: number): string {
  return [
    `idle_in_transaction_session_timeout=${idleLimitMs}`,
    `idle_session_timeout=${idleLimitMs}`,
    'tcp_keepalives_idle=20',
    'tcp_keepalives_interval=10',
    'tcp_keepalives_count=3',
    'tcp_user_timeout=60000',
  ]
    .map((limit) => `-c ${limit}`)
    .join(' ');
}

/** For people. */
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
