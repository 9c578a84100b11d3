import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { statementIn, statementsIn } from '../../lib/sql-file.ts';
import { testFolder } from '../support/folders.ts';

function sqlFile(text: string): URL {
  const folder = testFolder();
  writeFileSync(join(folder, 'some.sql'), text);
  return pathToFileURL(join(folder, 'some.sql'));
}

test('returns the statement of a name with its comments', () => {
  const file = sqlFile('-- Of the file.\n\n-- name: one\n-- Why.\nselect 1\n\n-- name: two\nselect\n    2\n');
  expect(statementIn(file, 'one')).toBe('-- Why.\nselect 1');
  expect(statementIn(file, 'two')).toBe('select\n    2');
});

test('reads a file once', () => {
  const file = sqlFile('-- name: one\nselect 1\n');
  expect(statementIn(file, 'one')).toBe('select 1');
  writeFileSync(file, '-- name: one\nselect 2\n');
  expect(statementIn(file, 'one')).toBe('select 1');
});

test('names the file and the unknown statement', () => {
  expect(() => statementIn(sqlFile('-- name: one\nselect 1\n'), 'three')).toThrow(
    'some.sql has no statement "three".',
  );
});

test.each([
  ['has no statement', ''],
  ['has a statement without a "-- name:" line', 'select 1'],
  ['has two statements "one"', '-- name: one\nselect 1\n-- name: one\nselect 2'],
  ['has no SQL after "-- name: one"', '-- name: one\n-- Why.\n-- name: two\nselect 2'],
])('refuses a file that %s', (message, text) => {
  expect(() => statementsIn(sqlFile(text))).toThrow(message);
});
