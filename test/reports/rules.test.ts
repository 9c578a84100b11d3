/** The examples of docs/report-rules.md, computed by the macros that all reports use. */

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
  ['per(5, 3)', '1.6667'],
  ['per(-5, 3)', '-1.6667'],
  ['per(0.0001, 2)', '0.0001'],
  ['per(-0.0001, 2)', '-0.0001'],
  ['per(1, 0)', null],
  ['per(null, 2)', null],
  ['per(99999999999999.9999, 0.0001)', '999999999999999999.0000'],
  ['percent_of(1, 3)', '33.33'],
  ['percent_of(-1, 8)', '-12.50'],
  ['percent_of(0.00005, 1)', '0.01'],
  ['mean_of(7, 2)', '3.50'],
  ["sum_lb(1.0000, 'KG')", '2.2046'],
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
  ["normal_zone('Zone 05')", '5'],
  ["normal_zone('ZONE-007')", '7'],
  ["normal_zone('zone zone 5')", 'ZONE 5'],
  ["normal_zone('')", ''],
  ['normal_zone(null)', null],
  ["normal_zone(' 044 ')", '44'],
  ["normal_zone('00')", '0'],
  ["normal_zone('ak')", 'AK'],
  ["normal_zone('zone ak')", 'AK'],
  ["rated_lb(1.0001, 'LB')", '2'],
  ["rated_lb(cast(99999999999999.9999 as decimal(18, 4)), 'KG')", '220462262180000'],
])('%s is %s', async (expression, expected) => {
  expect(await computed(expression)).toBe(expected);
});

describe('pounds', () => {
  test.each([
    ["lb_of(0.4536::decimal(18, 4), 'KG')", '1.00001682124848'],
    ["lb_of(2.5::decimal(18, 4), 'LB')", '2.50000000000000'],
    ["rated_lb(0.4536::decimal(18, 4), 'KG')", '2'],
    ["rated_lb(0.4535::decimal(18, 4), 'KG')", '1'],
  ])('%s is %s', async (sql, expected) => {
    expect(String(await computed(sql)).padEnd(expected.length, '0')).toBe(expected);
  });

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

test.each([
  [' k1a  0b1 ', 'K1A 0B1'],
  ['\u00a0ab1\u00a02cd\t', 'AB1 2CD'],
  ['\u2003', ''],
])('the origin %j is %j', async (origin, expected) => {
  expect(await computed(`origin_of('${origin}')`)).toBe(expected);
});

describe('zones', () => {
  test.each([
    ["'5'", '5.0000'],
    ["'17.5'", '17.5000'],
    ["'1e1'", null],
    ["'A5'", null],
    ['null', null],
  ])('the number of zone %s is %s', async (zone, expected) => {
    expect(await computed(`zone_number(${zone})`)).toBe(expected);
  });

  test.each([
    ['Zone - 5', '5'],
    ['zone#A', 'A'],
    ['ZoneA', 'ZONEA'],
    ['Zone -', 'ZONE -'],
    ['zone', 'ZONE'],
    ['-17.5', '-17.5'],
  ])('%s is zone %s', async (zone, expected) => {
    expect(await computed(`normal_zone('${zone}')`)).toBe(expected);
  });

  test('a mean takes numbers as they are', async () => {
    const mean = 'mean_of(sum(zone_number(zone)), count(zone_number(zone)))';
    expect(await computed(`${mean} from (values ('17'), ('17.5'), ('HAWAII')) as z (zone)`)).toBe('17.25');
    expect(await computed(`${mean} from (values ('HAWAII')) as z (zone)`)).toBeNull();
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

describe('a median', () => {
  test.each([
    ['(1), (2), (4), (10)', '3.0000'],
    ['(1), (2), (10)', '2.0000'],
    ['(-0.0001), (0)', '-0.0001'],
    ['(7)', '7.0000'],
  ])('of %s is %s', async (rows, expected) => {
    expect(await computed(`median_of(x::decimal(18, 4)) from (values ${rows}) as v (x)`)).toBe(expected);
    const counted = `select x, 2 * sum(1) over (order by x) as up_to, 2 * count(*) over () as n from (values ${rows}) as v (x)`;
    expect(await computed(`median_at(x::decimal(18, 4), up_to, n) from (${counted})`)).toBe(expected);
  });
});

test.each([
  ['64, 18', '255.56'],
  ['64, -18', null],
  ['64, 0', null],
  ['0, 50', '-100.00'],
])('a change in percent of %s is %s', async (values, expected) => {
  expect(await computed(`change_percent(${values})`)).toBe(expected);
});
