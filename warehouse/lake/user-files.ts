/** A change counts only if the version is still the one that was read, so no lock is held and a frozen process blocks no other. */

import pg from 'pg';
import { statementIn } from '../../lib/sql-file.ts';
import type { UserStore } from '../../lib/user-store.ts';
import type { EnvironmentName } from '../../lib/wire/names.ts';
import { WarehouseError } from '../errors.ts';
import {
  type CatalogAddress,
  type LakeSettings,
  readCatalogAddress,
  withoutPassword,
} from './catalog-address.ts';
import { asCatalogError } from './catalog-errors.ts';
import { connectionOptions } from './ledger.ts';

const STATEMENTS = new URL('./user-files.sql', import.meta.url);
const QUERY_MS = 60_000;
/** An idle connection is closed soon: alerts use one every few seconds, and a slot of PostgreSQL is not kept in between. */
const IDLE_MS = 500;
/** The SQLSTATEs of a table or a schema that does not exist. */
const MISSING = ['42P01', '3F000'];

interface FileRow {
  readonly version: string;
  readonly content: Buffer;
}

const stores = new Map<string, UserStore>();

export function openUserFiles({ catalog }: LakeSettings, environment: EnvironmentName): UserStore {
  const key = JSON.stringify([catalog, environment]);
  const store = stores.get(key) ?? storeIn(readCatalogAddress(catalog), environment);
  stores.set(key, store);
  return store;
}

function storeIn(address: CatalogAddress, environment: EnvironmentName): UserStore {
  const pool = new pg.Pool({
    ...connectionOptions(address, 'files'),
    ...{ max: 1, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true, query_timeout: QUERY_MS },
    // Nothing can make these files again, so a role or database that does not wait for its standby waits here.
    onConnect: async (client) => void (await client.query('set synchronous_commit = on')),
  });
  // The pool replaces a broken idle connection; without a listener the event would end the process.
  pool.on('error', () => undefined);

  async function run(name: string, ...values: readonly unknown[]): Promise<pg.QueryResult | null> {
    try {
      return await pool.query(statementIn(STATEMENTS, name), [environment, ...values]);
    } catch (error) {
      if (error instanceof pg.DatabaseError && MISSING.includes(error.code ?? '')) return null;
      throw asFileError(error, address);
    }
  }

  async function write(name: string, ...values: readonly unknown[]): Promise<boolean> {
    let result = await run(name, ...values);
    if (result === null) {
      await createTable(pool, address);
      result = await run(name, ...values);
    }
    return (result?.rowCount ?? 0) > 0;
  }

  async function find(path: string): Promise<FileRow | null> {
    const [row] = (await run('read', path))?.rows ?? [];
    return (row as FileRow | undefined) ?? null;
  }

  /** Changes a file, and again when it was changed meanwhile. @returns false when `to` returns null */
  async function update(
    name: 'replace' | 'append',
    path: string,
    to: (before: Buffer | null) => Uint8Array | string | null,
  ): Promise<boolean> {
    for (;;) {
      const found = await find(path);
      const content = to(found?.content ?? null);
      if (content === null) return false;
      const bytes = Buffer.from(content);
      const isWritten =
        found === null ? await write('insert', path, bytes) : await write(name, path, bytes, found.version);
      if (isWritten) return true;
    }
  }

  return {
    isShared: true,
    place: (path) => `${path} (in PostgreSQL)`,
    read: async (path) => (await find(path))?.content ?? null,
    async list(folder) {
      const rows = (await run('list', folder === '' ? '' : `${folder}/`))?.rows ?? [];
      return rows.map(({ path }) => String(path));
    },
    change: (path, to) => update('replace', path, to),
    async append(path, toLine) {
      await update('append', path, (before) => toLine(before ?? Buffer.alloc(0)));
    },
    remove: (path) => write('remove', path),
  };
}

async function createTable(pool: pg.Pool, address: CatalogAddress): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    for (const name of ['lock-creation', 'create-schema', 'create-table']) {
      await client.query(statementIn(STATEMENTS, name));
    }
    await client.query('commit');
  } catch (error) {
    // The first error is the one to report; an open transaction ends with its connection.
    client.release(true);
    throw asFileError(error, address);
  }
  client.release();
}

function asFileError(error: unknown, address: CatalogAddress): unknown {
  const known = asCatalogError(error, address);
  if (!(known instanceof pg.DatabaseError)) return known;
  return new WarehouseError('catalog-refuses', [address.printable, withoutPassword(known.message, address)]);
}
