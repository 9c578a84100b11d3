/**
 * One read-only DuckDB instance for each published file, which all sessions that are open at a time share.
 *
 * An instance reads what the file says of its blocks when it is made (of 545 MB half a second of processor time), and keeps
 * the blocks that it read; a connection has its own temporary views, macros, tables and variables, so sessions see
 * nothing of each other. The file is replaced as a whole: whoever opens it afterwards gets a new instance, and the former one
 * is closed with its last session.
 */

import { stat } from 'node:fs/promises';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { readingLimits } from '../lib/files/published-file.ts';

/** Values that depend on the file alone. */
export type FileCache = Map<string, Promise<unknown>>;

export interface OwnConnection {
  readonly connection: DuckDBConnection;
  /** Shared by all sessions of the file; null for a file that changes while it is open. */
  readonly cache: FileCache | null;
  readonly close: () => void;
}

interface Opened {
  /** Of the file as it was when it was opened. */
  readonly identity: string;
  readonly instance: Promise<DuckDBInstance>;
  readonly cache: FileCache;
  sessions: number;
  lastUsedAt: number;
}

/** By path, of the file that is there now. */
const opened = new Map<string, Opened>();
/** How many keep the instance of a path open between sessions. */
const keepers = new Map<string, number>();

const LOOK_EVERY_MS = 5_000;
/** What nobody read for so long is closed, since its blocks take memory. */
const KEPT_FOR_MS = 10 * 60_000;

/** A connection of its own to the instance of the file that is there now. @throws whatever DuckDB says of the file */
export async function connectShared(path: string): Promise<OwnConnection> {
  const identity = await identityOf(path);
  const own = current(path, identity);
  own.sessions += 1;
  let isClosed = false;
  const leave = (): void => {
    if (isClosed) return;
    isClosed = true;
    own.sessions -= 1;
    own.lastUsedAt = Date.now();
    closeUnused(path, own);
  };
  try {
    const connection = await (await own.instance).connect();
    const close = (): void => {
      if (!isClosed) connection.closeSync();
      leave();
    };
    if (await answers(connection)) return { connection, cache: own.cache, close };
    if (opened.get(path) === own) opened.delete(path);
    close();
    return await connectShared(path);
  } catch (error) {
    leave();
    throw error;
  }
}

/**
 * An instance that met a fault of DuckDB's own refuses every statement from then on, though nothing is wrong with the file. In 1.5.5
 * a count over a window can do that, now and then.
 */
async function answers(connection: DuckDBConnection): Promise<boolean> {
  try {
    await connection.run('select 1');
    return true;
  } catch (error) {
    if (error instanceof Error && /database has been invalidated/i.test(error.message)) return false;
    throw error;
  }
}

/**
 * For a process that answers many readers: the instance stays between their sessions until the file is replaced, which is
 * looked for every few seconds, or nobody reads for ten minutes.
 */
export function keepOpen(path: string, { lookEveryMs = LOOK_EVERY_MS } = {}): { close(): void } {
  keepers.set(path, (keepers.get(path) ?? 0) + 1);
  const timer = setInterval(() => void look(path), lookEveryMs).unref();
  let isClosed = false;
  return {
    close() {
      if (isClosed) return;
      isClosed = true;
      clearInterval(timer);
      const others = (keepers.get(path) ?? 1) - 1;
      if (others > 0) keepers.set(path, others);
      else keepers.delete(path);
      const own = opened.get(path);
      if (own !== undefined) closeUnused(path, own);
    },
  };
}

/** A file that was replaced or removed keeps its room on the disk for as long as it is open. */
async function look(path: string): Promise<void> {
  const identity = await identityOf(path).catch(() => null);
  const own = opened.get(path);
  if (own === undefined) return;
  const isIdle = own.sessions === 0 && Date.now() - own.lastUsedAt > KEPT_FOR_MS;
  if (own.identity !== identity || isIdle) forget(path, own);
}

function current(path: string, identity: string): Opened {
  const known = opened.get(path);
  if (known?.identity === identity) return known;
  const own: Opened = {
    ...{ identity, instance: openInstance(path), sessions: 0, lastUsedAt: Date.now() },
    cache: new Map(),
  };
  opened.set(path, own);
  if (known !== undefined) closeUnused(path, known);
  own.instance.catch(() => {
    if (opened.get(path) === own) opened.delete(path);
  });
  return own;
}

function forget(path: string, own: Opened): void {
  if (opened.get(path) === own) opened.delete(path);
  closeUnused(path, own);
}

function closeUnused(path: string, own: Opened): void {
  const isCurrent = opened.get(path) === own;
  if (own.sessions > 0 || (isCurrent && keepers.has(path))) return;
  if (isCurrent) opened.delete(path);
  own.instance.then(
    (instance) => instance.closeSync(),
    () => undefined,
  );
}

async function openInstance(path: string): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(path, {
    access_mode: 'READ_ONLY',
    // Before nothing more may be reached.
    ...readingLimits(path),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    enable_external_access: 'false',
    // It keeps rows that two parts of a query share in memory, which is dearer than reading them a second time, and it
    // hides from the reading which days or invoices are wanted.
    disabled_optimizers: 'common_subplan',
  });
  try {
    const connection = await instance.connect();
    // For all connections to come: afterwards none can be set.
    await connection.run("set global TimeZone = 'UTC'");
    await connection.run('set lock_configuration = true');
    connection.closeSync();
    return instance;
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

/** Changes whenever the file is replaced or written to. */
async function identityOf(path: string): Promise<string> {
  const { dev, ino, mtimeNs, ctimeNs, size } = await stat(path, { bigint: true });
  return [dev, ino, mtimeNs, ctimeNs, size].join('/');
}
