/** The table of columns against those who keep their own (ADR 5), and the list that people read. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CSV_COLUMNS, CSV_HEADERS } from '../../../lib/wire/csv-file.ts';
import { HEADERS } from '../../../sandbox/conformance/csv.ts';
import { CSV_HEADERS as SANDBOX_HEADERS } from '../../../sandbox/model.ts';

test('the sandbox and the conformance rules, which import nothing of ours, name the same columns', () => {
  expect(SANDBOX_HEADERS).toEqual(CSV_HEADERS);
  expect(HEADERS).toEqual(CSV_HEADERS);
});

test('a column that came later is not required: earlier files do not have it', () => {
  expect(CSV_COLUMNS.filter(({ since, isRequired }) => since !== undefined && isRequired)).toEqual([]);
});

test('docs/csv-files.md lists the columns as the table has them', () => {
  const rows = CSV_COLUMNS.map(({ header, name, type, isRequired, unit, meaning }) => [
    ...[
      header,
      `\`${name}\``,
      type,
      isRequired ? 'no' : 'yes',
      unit === null ? '' : `in \`${unit}\``,
      meaning,
    ],
  ]);
  const heads = ['Header', 'Column', 'Type', 'May be empty', 'Unit', 'Meaning'];
  const widths = heads.map((head, at) =>
    Math.max(...[head, ...rows.map((row) => row[at] ?? '')].map((cell) => cell.length)),
  );
  const lines = [heads, widths.map((width) => '-'.repeat(width)), ...rows].map(
    (cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`,
  );
  expect(readFileSync('docs/csv-files.md', 'utf8')).toContain(`\n\n${lines.join('\n')}\n\n`);
});
