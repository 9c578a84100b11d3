import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { isWithoutVisible } from '../../../lib/text.ts';
import { sql } from '../../../warehouse/duckdb/sql.ts';

test('DuckDB and TypeScript treat the same characters as empty', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(sql('csv-session'));
  const found = await connection.runAndReadAll(
    `select c from range(1, 1114112) as r(c) where c not between 55296 and 57343 and not is_something(chr(c::integer))`,
  );
  const inDuckDb = found.getRows().map(([codePoint]) => Number(codePoint));
  const here: number[] = [];
  for (let codePoint = 1; codePoint < 0x110000; codePoint += 1) {
    if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
    if (isWithoutVisible(String.fromCodePoint(codePoint))) here.push(codePoint);
  }
  expect(inDuckDb).toEqual(here);
  connection.closeSync();
  instance.closeSync();
});

test('treats white space and ignorable code points as empty', () => {
  const leftOut = /^[\s\p{Cc}\p{Zs}\p{Default_Ignorable_Code_Point}]$/u;
  for (let codePoint = 0; codePoint < 0x110000; codePoint += 1) {
    if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
    const character = String.fromCodePoint(codePoint);
    if (leftOut.test(character) !== isWithoutVisible(character)) {
      // Also blanks that are symbols, and signs of annotations.
      expect([0x2800, 0xfff9, 0xfffa, 0xfffb]).toContain(codePoint);
    }
  }
});
