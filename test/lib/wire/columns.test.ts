/** The table of columns against the independent ones of the sandbox and the conformance rules (ADR 5). */

import { expect, test } from 'vitest';
import { CSV_COLUMNS, CSV_HEADERS } from '../../../lib/wire/csv-file.ts';
import { HEADERS } from '../../../sandbox/conformance/csv.ts';
import { CSV_HEADERS as SANDBOX_HEADERS } from '../../../sandbox/model.ts';

test('names the same columns as the sandbox and the conformance rules', () => {
  expect(SANDBOX_HEADERS).toEqual(CSV_HEADERS);
  expect(HEADERS).toEqual(CSV_HEADERS);
});

test('does not require columns of later editions', () => {
  expect(CSV_COLUMNS.filter(({ since, isRequired }) => since !== undefined && isRequired)).toEqual([]);
});
