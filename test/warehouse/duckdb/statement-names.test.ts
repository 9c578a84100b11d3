/** A value under a name that a statement has not, or a name without a value, is an error and never an answer. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../../warehouse/duckdb/database.js';
import { ledgerStatement, ledgerValues } from '../../../warehouse/lake/lake-statements.js';

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
  const statement = ledgerStatement('load-known');
  expect(statement.names).toEqual(['invoice_id', 'file_sha256']);
  expect(ledgerValues(statement, { file_sha256: null, invoice_id: 'a' })).toEqual(['a', null]);
  expect(() => ledgerValues(statement, { invoice_id: 'a' })).toThrow('got no value for file_sha256');
  const wrong = { invoice_id: 'a', file_sha256: 'b', sha256: 'c' };
  expect(() => ledgerValues(statement, wrong)).toThrow('has no parameter sha256');
});
