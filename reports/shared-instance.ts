/**
 * Sessions of one published file share a read-only instance: creating one reads the metadata of all blocks
 * (0.5 s for 545 MB), and it caches blocks. After a replacement the old instance is closed with its last
 * session.
 */

import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { openInstance } from '../lib/duckdb-instance.ts';
import { readingLimits } from '../lib/files/damaged-database.ts';
import { identityOf } from '../lib/files/files.ts';

export type FileCache = Map<string, Promise<unknown>>;

export interface OwnConnection {
  readonly connection: DuckDBConnection;
  /** The cache of a file; null when the file changes while it is open. */
  readonly cache: FileCache | null;
  readonly close: () => void;
}

interface Opened {
  readonly identity: string;
  readonly instance: Promise<DuckDBInstance>;
  readonly cache: FileCache;
  sessions: number;
  lastUsedAt: number;
}

const opened = new Map<string, Opened>();
const keptPaths = new Set<string>();

const CHECK_EVERY_MS = 5_000;
/** An unused instance is closed then, since its blocks take memory. */
const KEPT_FOR_MS = 10 * 60_000;

export async function connectShared(path: string): Promise<OwnConnection> {
  const identity = await identityOf(path);
  const own = openedOf(path, identity);
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
    if (await doesAnswer(connection)) return { connection, cache: own.cache, close };
    if (opened.get(path) === own) opened.delete(path);
    close();
    return await connectShared(path);
  } catch (error) {
    leave();
    throw error;
  }
}

/**
 * After an internal error an instance refuses every statement, although the file is intact (seen in DuckDB
 * 1.5.5 with a count over a window).
 */
async function doesAnswer(connection: DuckDBConnection): Promise<boolean> {
  try {
    await connection.run('select 1');
    return true;
  } catch (error) {
    if (error instanceof Error && /database has been invalidated/i.test(error.message)) return false;
    throw error;
  }
}

/** Keeps the file open until it is replaced or unused for ten minutes. */
export function keepOpen(path: string, { checkEveryMs = CHECK_EVERY_MS } = {}): { close(): void } {
  keptPaths.add(path);
  const timer = setInterval(() => void closeReplaced(path), checkEveryMs).unref();
  return {
    close() {
      clearInterval(timer);
      keptPaths.delete(path);
      const own = opened.get(path);
      if (own !== undefined) closeUnused(path, own);
    },
  };
}

/** A replaced file takes disk space as long as it is open. */
async function closeReplaced(path: string): Promise<void> {
  const identity = await identityOf(path).catch(() => null);
  const own = opened.get(path);
  if (own === undefined) return;
  const isIdle = own.sessions === 0 && Date.now() - own.lastUsedAt > KEPT_FOR_MS;
  if (own.identity === identity && !isIdle) return;
  opened.delete(path);
  closeUnused(path, own);
}

function openedOf(path: string, identity: string): Opened {
  const known = opened.get(path);
  if (known?.identity === identity) return known;
  const own: Opened = {
    ...{ identity, instance: openReadOnly(path), sessions: 0, lastUsedAt: Date.now() },
    cache: new Map(),
  };
  opened.set(path, own);
  if (known !== undefined) closeUnused(path, known);
  own.instance.catch(() => {
    if (opened.get(path) === own) opened.delete(path);
  });
  return own;
}

function closeUnused(path: string, own: Opened): void {
  const isCurrent = opened.get(path) === own;
  if (own.sessions > 0 || (isCurrent && keptPaths.has(path))) return;
  if (isCurrent) opened.delete(path);
  own.instance.then(
    (instance) => instance.closeSync(),
    () => undefined,
  );
}

function openReadOnly(path: string): Promise<DuckDBInstance> {
  const options = {
    access_mode: 'READ_ONLY',
    ...readingLimits(path),
    enable_external_access: 'false',
    // This optimizer keeps shared rows in memory, which is slower than reading them twice, and prevents filter pushdown.
    disabled_optimizers: 'common_subplan',
  };
  return openInstance(path, options, { lock: true });
}
