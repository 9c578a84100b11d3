/** Sizes that random histories do not have, computed by the macros that all reports use. */

import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { openPublishedFile } from '../../reports/open-published-file.ts';
import { reportsFixture } from '../support/reports-fixture.ts';

const fixture = await reportsFixture([]);
const file = await openPublishedFile(fixture.path);
afterAll(async () => {
  file.close();
  await fixture.remove();
});

const computed = async (sql: string): Promise<unknown> =>
  (await file.query(`select ${sql}`)).getRowsJson()[0]?.[0];
const rules = readFile(new URL('../../docs/report-rules.md', import.meta.url), 'utf8');

test.each([
  ['per(99999999999999.9999, 0.0001)', '999999999999999999.0000'],
  ["lb_of(0.0003, 'KG')", '0.00066138678654'],
  // On both sides of where the 64-bit way ends.
  ["lb_of(999.9999, 'KG')", '2204.62240133773782'],
  ["lb_of(-999.9999, 'KG')", '-2204.62240133773782'],
  ["lb_of(1000, 'KG')", '2204.62262180000000'],
  ["rated_lb(999.9999, 'KG')", '2205'],
  ["rated_lb(1000, 'KG')", '2205'],
  ['ten_thousandths(9999999999.9999)', '99999999999999'],
  ['ten_thousandths(10000000000)', '100000000000000'],
  ['ten_thousandths(-10000000000.0001)', '-100000000000001'],
  ['ten_thousandths(null)', null],
  ["rated_lb(cast(99999999999999.9999 as decimal(18, 4)), 'KG')", '220462262180000'],
])('%s is %s', async (expression, expected) => {
  expect(await computed(expression)).toBe(expected);
});

describe('pounds', () => {
  test('a cost is divided by pounds that were not rounded', async () => {
    const of = (cost: string, rows: string): Promise<unknown> =>
      computed(`per_lb(${cost}::decimal(18, 4), weight, unit) from (values ${rows}) as r (weight, unit)`);
    expect(await of('1.00', "(0.1000::decimal(18, 4), 'KG')")).toBe('4.5359');
    expect(await of('-1.00', "(0.1000::decimal(18, 4), 'KG')")).toBe('-4.5359');
    expect(await of('12345678901.2345', "(2::decimal(18, 4), 'LB'), (0, 'KG')")).toBe('6172839450.6173');
    expect(await of('1.00', '(null::decimal(18, 4), null)')).toBeNull();
    expect(await rules).toContain('is 4.5359 per pound');
  });
});

describe('a quotient in hundred-millionths', () => {
  test.each([
    [7, 3, '233333333'],
    [2, 3, '66666667'],
    [1, 200_000_000, '1'],
    [1, 200_000_001, '0'],
    // Beyond what 64 bits hold: nine million million millions; and 2.5 of them, rounded away from zero.
    ['9000000000000000000', 1, '900000000000000000000000000'],
    [1001, 40_000_000_000, '3'],
  ])('of %s / %s is %s', async (n, d, expected) => {
    expect(await computed(`hundred_millionths(${n}::hugeint, ${d}::hugeint)`)).toBe(expected);
  });
});
