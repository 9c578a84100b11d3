/** Opens the published file for reading only, in a session that can reach nothing else (hazard 17). */

import { stat } from 'node:fs/promises';
import type { DuckDBConnection, DuckDBResult, DuckDBResultReader, DuckDBValue } from '@duckdb/node-api';
import { jsonValue, rollBackAndClose } from '../lib/duckdb-values.ts';
import { asDamage, refuseLeftWal } from '../lib/files/published-file.ts';
import type { ExtraTable } from './catalogue.ts';
import { asOtherVersion, NotPublishedError } from './errors.ts';
import { connectShared, type OwnConnection } from './shared-instance.ts';
import { statementText } from './statement-text.ts';

/** One reader with its own session; reports share nothing but the file. */
export interface PublishedFile {
  readonly path: string;
  /** false over a lake: the file has views on Parquet files that may change while it is open. */
  readonly isWhole: boolean;
  /** Runs one statement of ours; values are bound by name, never written into the text. Without values it is planned once. */
  query(sql: string, values?: Readonly<Record<string, DuckDBValue>>): Promise<DuckDBResultReader>;
  /** Like `query`, of rows that are fetched piece by piece; nothing else is asked of the session meanwhile. */
  stream(sql: string, values: Readonly<Record<string, DuckDBValue>>): Promise<DuckDBResult>;
  /** Runs a statement from `reports/session/`, or of a line. */
  apply(statement: SessionStatement): Promise<DuckDBResultReader>;
  /** Gives the session the table, view or macro that a statement makes. */
  provide(statement: SessionStatement): Promise<void>;
  /** Rows of a statement that asks nothing of a session, read once for all sessions of this file that share it. */
  fact(statement: SessionStatement): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** For what has no SQL: appending rows of an optional table, interrupting. */
  readonly connection: DuckDBConnection;
  close(): void;
}

/** One of a line stands where it is asked. */
export type SessionStatement =
  | `select ${string}`
  | `create ${string}`
  | 'base-as-known-on'
  | 'base-labelled'
  | 'tenants-are-plain'
  | 'tenant-labels'
  | 'tenants-known'
  | 'currencies-known'
  | 'files-on'
  | 'macros'
  | 'definitions'
  | 'known-invoices'
  | 'filtered-shipments'
  | 'loaded-shipments'
  | 'selected-shipments'
  | 'loaded-shipments-rated'
  | 'tenant-shipments'
  | 'rated-weights'
  | 'no-rated-weights'
  | 'prices'
  | 'line-faults'
  | 'faulty-lines'
  | 'cell-prices'
  | 'invoiced'
  | 'billed-by'
  | 'rate-day'
  | 'rated-cells'
  | 'weighed'
  | 'repeated-lines'
  | 'repeats-by'
  | 'invoice-currencies'
  | 'invoice-totals'
  | 'invoices-owed'
  | 'price-moves'
  | 'shipped-months'
  | 'accrual-estimates'
  | 'filtered-invoices'
  | 'selected-invoices'
  | 'invoices-left-out'
  | 'levels'
  | 'levels-as-known-on'
  | `matched-${ExtraTable}`
  | 'voided-shipments'
  | 'head';

const SESSION_FOLDER = new URL('./session/', import.meta.url);

/** Gives a connection that can reach what the file shows and nothing else. */
export type Connect = () => Promise<DuckDBConnection>;

const elsewhere = new Map<string, Connect>();

/** For a lake's published file, whose views need an attached catalog: reads of `path` use connections made by this. */
export function readElsewhere(path: string, connect: Connect): void {
  elsewhere.set(path, connect);
}

/**
 * @param path of `reports.duckdb`; it may be replaced while it is open, this reader then keeps its view
 * @throws NotPublishedError when there is no file
 * @throws OtherVersionFileError from `query`: the file does not have what is asked for
 * @throws LeftWalError when a write-ahead log lies beside it
 * @throws DamagedFileError when nothing can be read of it; `query` too, of a part that is damaged
 */
export async function openPublishedFile(path: string): Promise<PublishedFile> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    // With a lake, the connecting process creates the file.
    if (!elsewhere.has(path)) throw new NotPublishedError(path);
    return null;
  });
  if (found?.isDirectory() === true)
    throw Object.assign(new Error('It is a folder.'), { code: 'EISDIR', path });
  await refuseLeftWal(path);
  const { connection, facts, close } = await connectTo(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'no-lake-yet')
      throw new NotPublishedError(path);
    throw asDamage(error, path);
  });
  const query: PublishedFile['query'] = async (sql, values = {}) => {
    try {
      // What is prepared is planned, and often a second time when it is run.
      if (Object.keys(values).length === 0) return await connection.runAndReadAll(sql);
      const statement = await connection.prepare(sql);
      statement.bind({ ...values });
      return await statement.runAndReadAll();
    } catch (error) {
      throw asDamage(asOtherVersion(error, path), path);
    }
  };
  const stream: PublishedFile['stream'] = async (sql, values) => {
    try {
      const statement = await connection.prepare(sql);
      statement.bind({ ...values });
      return await statement.stream();
    } catch (error) {
      throw asDamage(asOtherVersion(error, path), path);
    }
  };
  try {
    await seeInternal(connection);
    for (const macros of ['macros', 'definitions'] as const) await connection.run(await sessionText(macros));
    const isWhole = !elsewhere.has(path);
    const apply: PublishedFile['apply'] = async (name) => query(await sessionText(name));
    const provide: PublishedFile['provide'] = async (name) => {
      await apply(name);
    };
    const fact: PublishedFile['fact'] = (name) => {
      const read = (): ReturnType<PublishedFile['fact']> => {
        const rows = apply(name).then((reader) => reader.convertRowObjects(jsonValue));
        facts?.set(name, rows);
        return rows;
      };
      // Who read it first may have been interrupted.
      return facts?.get(name)?.catch(read) ?? read();
    };
    return { path, isWhole, query, stream, apply, provide, fact, connection, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Tables behind the views lie in a schema of their own. A file that billsync did not publish lacks it, and the first query says so. */
async function seeInternal(connection: DuckDBConnection): Promise<void> {
  try {
    await connection.run("set search_path = 'main,internal'");
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('named "internal"'))) throw error;
  }
}

async function connectTo(path: string): Promise<OwnConnection> {
  const connect = elsewhere.get(path);
  if (connect !== undefined) {
    const connection = await connect();
    return { connection, facts: null, close: () => void rollBackAndClose(connection) };
  }
  return connectShared(path);
}

async function sessionText(name: SessionStatement): Promise<string> {
  return name.includes(' ') ? name : statementText(new URL(`${name}.sql`, SESSION_FOLDER));
}
