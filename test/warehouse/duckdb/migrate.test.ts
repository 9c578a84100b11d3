/** Migrations: each is applied once and in order, and a file of a newer schema is refused. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../../warehouse/duckdb/database.ts';
import { migrate } from '../../../warehouse/duckdb/schema.ts';
import { migrations } from '../../../warehouse/duckdb/sql.ts';

const NOW = new Date('2026-03-01T00:00:00Z');
const SECOND = {
  number: migrations().length + 1,
  name: 'synthetic',
  text: 'alter table internal.loads add column noted varchar; create table internal.added (n integer);',
};

let folder: string;
let database: Database;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'billsync-migrate-'));
  const path = join(folder, 'a.duckdb');
  database = await Database.open({ path, folders: [], temporaryFolder: folder, memoryLimit: null });
  await migrate(database, NOW);
});
afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

test('applies a later migration once to a file that has the earlier ones, and then refuses it without that migration', async () => {
  const known = [...migrations(), SECOND];
  await migrate(database, NOW, known);
  await migrate(database, NOW, known);

  const applied = await database.all(
    'select number::integer as number from schema_migrations order by number',
  );
  expect(applied.map(({ number }) => number)).toEqual(known.map(({ number }) => number));
  expect(await database.all('select noted from loads')).toEqual([]);
  await expect(migrate(database, NOW)).rejects.toMatchObject({ code: 'warehouse-too-new' });
});
