/** A value under a name that a statement has not, or a name without a value, is an error and never an answer. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../../warehouse/duckdb/database.ts';
import { ledgerStatement, ledgerValues } from '../../../warehouse/lake/ledger.ts';

test('in DuckDB', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'billsync-names-'));
  const path = join(folder, 'a.duckdb');
  const database = await Database.open({ path, folders: [], temporaryFolder: folder, memoryLimit: null });
  onTestFinished(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });
  await database.use(async (session) => {
    const text = 'select $a::integer as a, $b::integer as b';
    expect(await session.statement(text, { a: 1, b: null })).toEqual([{ a: 1, b: null }]);
    await expect(session.statement(text, { a: 1 })).rejects.toThrow('got no value for b');
    await expect(session.statement(text, { a: 1, b: 2, c: 3 })).rejects.toThrow('has no parameter c');
    await expect(session.statement('select 1', { c: 3 })).rejects.toThrow('has no parameter c');
    expect(await session.statement(text, { a: 1, b: 2 })).toEqual([{ a: 1, b: 2 }]);
  });
});

test("in a lake's ledger", () => {
  const statement = ledgerStatement('insert-cursor');
  expect(statement.names).toEqual(['stream', 'position']);
  expect(ledgerValues(statement, { position: null, stream: 'a' })).toEqual(['a', null]);
  expect(() => ledgerValues(statement, { stream: 'a' })).toThrow('got no value for position');
  const wrong = { stream: 'a', position: 'b', place: 'c' };
  expect(() => ledgerValues(statement, wrong)).toThrow('has no parameter place');
});
