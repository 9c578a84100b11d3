import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CONNECTIONS, Database } from '../../../warehouse/duckdb/database.ts';
import { migrate } from '../../../warehouse/duckdb/schema.ts';
import { migrations } from '../../../warehouse/duckdb/sql.ts';
import { ledgerStatement, ledgerValues } from '../../../warehouse/lake/ledger.ts';
import { testFolder } from '../../support/folders.ts';

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
  folder = testFolder();
  database = await open();
});
afterEach(() => {
  database.close();
});

test('a closed database refuses new, waiting and lent connections, and releases the file', async () => {
  const held = Promise.withResolvers<void>();
  const allLent = Promise.withResolvers<void>();
  let begun = 0;
  const lent = Array.from({ length: CONNECTIONS }, () =>
    database.use(async (session) => {
      await session.statement('select 1');
      begun += 1;
      if (begun === CONNECTIONS) allLent.resolve();
      await held.promise;
      return session.statement('select 2');
    }),
  );
  const waiting = database.use((session) => session.statement('select 3'));
  const outcomes = Promise.allSettled([...lent, waiting]);
  await allLent.promise;
  database.close();
  database.close();
  const late = database.use(async () => 1);
  held.resolve();
  await expect(late).rejects.toThrow('used after it was closed');
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'database-closed' } });
  }
  database = await open();
  expect(await database.use((session) => session.statement('select 4 as n'))).toEqual([{ n: 4 }]);
});

test('a statement refuses a value without a parameter and a parameter without a value', async () => {
  await database.use(async (session) => {
    const text = 'select $a::integer as a, $b::integer as b';
    expect(await session.statement(text, { a: 1, b: null })).toEqual([{ a: 1, b: null }]);
    await expect(session.statement(text, { a: 1 })).rejects.toThrow('got no value for b');
    await expect(session.statement(text, { a: 1, b: 2, c: 3 })).rejects.toThrow('has no parameter c');
    expect(await session.statement(text, { a: 1, b: 2 })).toEqual([{ a: 1, b: 2 }]);
  });
  const statement = ledgerStatement('insert-cursor', 1);
  expect(ledgerValues(statement, { position: null, stream: 'a' })).toEqual(['a', null]);
  expect(() => ledgerValues(statement, { stream: 'a' })).toThrow('got no value for position');
  const wrong = { stream: 'a', position: 'b', place: 'c' };
  expect(() => ledgerValues(statement, wrong)).toThrow('has no parameter place');
});

test('applies a later migration once, and then refuses the file without that migration', async () => {
  const now = new Date('2026-03-01T00:00:00Z');
  const second = {
    number: migrations().length + 1,
    name: 'synthetic',
    text: 'alter table internal.loads add column extra varchar; create table internal.added (n integer);',
  };
  const known = [...migrations(), second];
  await migrate(database, now);
  await migrate(database, now, known);
  await migrate(database, now, known);

  const applied = await database.all(
    'select number::integer as number from schema_migrations order by number',
  );
  expect(applied.map(({ number }) => number)).toEqual(known.map(({ number }) => number));
  expect(await database.all('select extra from loads')).toEqual([]);
  await expect(migrate(database, now)).rejects.toMatchObject({ code: 'warehouse-too-new' });
});
