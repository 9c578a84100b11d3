/** A database that is closed answers nobody, and nobody waits for it. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CONNECTIONS, Database } from '../../../warehouse/duckdb/database.ts';

let folder: string;
let database: Database;
const open = (): Promise<Database> =>
  Database.open({
    path: join(folder, 'a.duckdb'),
    folders: [],
    temporaryFolder: folder,
    memoryLimit: null,
  });
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'billsync-database-'));
  database = await open();
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a database that is closed', () => {
  test('refuses new, queued and open connections, and releases the file', async () => {
    let end = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      end = resolve;
    });
    let begun = 0;
    let allBegan = (): void => undefined;
    const begin = new Promise<void>((resolve) => {
      allBegan = resolve;
    });
    const lent = Array.from({ length: CONNECTIONS }, () =>
      database.use(async (session) => {
        await session.statement('select 1');
        begun += 1;
        if (begun === CONNECTIONS) allBegan();
        await held;
        return session.statement('select 2');
      }),
    );
    const waiting = database.use((session) => session.statement('select 3'));
    const outcomes = Promise.allSettled([...lent, waiting]);
    await begin;
    database.close();
    const late = database.use(async () => 1);
    end();
    await expect(late).rejects.toThrow('used after it was closed');
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'database-closed' } });
    }
    database = await open();
    expect(await database.use((session) => session.statement('select 4 as n'))).toEqual([{ n: 4 }]);
  });

  test('may be closed again', () => {
    database.close();
    database.close();
  });
});
