import { describe, expect, test } from 'vitest';
import type { ReportColumn, ReportRow } from '../../reports/cells.ts';
import { sortedBy, sumsOf } from '../../reports/render/table-order.ts';
import type { ReportResult } from '../../reports/report-result.ts';

const column = (name: string, type: ReportColumn['type'], scale = 0): ReportColumn => ({
  ...{ name, type, scale, unit: null, align: 'left', isDetail: false },
});
const columns = [
  column('carrier', 'text'),
  column('currency_code', 'text'),
  column('shipments', 'count'),
  column('billing_cost', 'decimal', 4),
];
const row = (
  carrier: string | null,
  currency: string,
  shipments: number,
  cost: string | null,
): ReportRow => ({
  ...{ carrier, currency_code: currency, shipments, billing_cost: cost },
});
const rows = [
  row('b', 'USD', 9, '9007199254740993.0001'),
  row(null, 'USD', 10, '-1.5000'),
  row('a', 'USD', 2, '9007199254740993.0002'),
  row('c', 'EUR', 1, null),
];
const result = { name: 'carriers', columns, rows } as unknown as ReportResult;
const carriers = (sort: string) => sortedBy(result, sort).rows.map(({ carrier }) => carrier);

describe('rows are sorted', () => {
  test.each([
    ['billing_cost', [null, 'b', 'a', 'c']],
    ['-billing_cost', ['a', 'b', null, 'c']],
    ['shipments', ['c', 'a', 'b', null]],
    ['-carrier', ['c', 'b', 'a', null]],
  ])('by %s, what is not known last', (sort, expected) => {
    expect(carriers(sort)).toEqual(expected);
  });

  test('by no column that is not there', () => {
    expect(() => sortedBy(result, 'colour')).toThrow('There is no column "colour" to sort by. Use carrier,');
  });
});

test('sums are exact, for each currency with several rows', () => {
  expect(sumsOf({ ...result, summed: ['billing_cost', 'shipments', 'elsewhere'] })).toEqual([
    { shipments: 21, billing_cost: '18014398509481984.5003', currency_code: 'USD', partner_id: null },
  ]);
  expect(sumsOf(result)).toEqual([]);
});
