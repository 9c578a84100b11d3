import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReportFilters } from '../../reports/report-filters.ts';
import {
  anInvoice,
  aShipment,
  cells,
  type FixtureShipment,
  runReportOn,
} from '../support/reports-fixture.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billsync-month-end-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, ...lines: string[]): Promise<string> {
  const path = join(folder, `${name}.csv`);
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

describe('a carrier’s statement', () => {
  test('use one spelling per carrier and respect the filters for carriers and currencies', async () => {
    const invoices = [
      anInvoice([aShipment({ carrier: 'UPS', carrierInvoiceDate: '2026-03-06', cost: '10' })]),
    ];
    const statements = await file(
      'statements-of-three',
      'carrier,carrier_invoice_date,currency_code,amount',
      'ups,2026-03-13,USD,4',
      'ontrac,2026-03-13,USD,5',
      'OnTrac,2026-03-20,USD,6',
      'ups,2026-03-13,EUR,7',
    );
    const ask = async (filters: ReportFilters) =>
      cells(
        await runReportOn('carrier-statements', invoices, { tables: { statements }, filters }),
        'carrier',
        'currency_code',
        'stated_amount',
      );
    const ours = [
      ['UPS', 'USD', null],
      ['UPS', 'USD', '4.0000'],
    ];
    expect(await ask({})).toEqual([
      ['UPS', 'EUR', '7.0000'],
      ['OnTrac', 'USD', '5.0000'],
      ['OnTrac', 'USD', '6.0000'],
      ...ours,
    ]);
    expect(await ask({ carriers: ['ups'] })).toEqual([['UPS', 'EUR', '7.0000'], ...ours]);
    expect(await ask({ carriers: ['ups'], currencies: ['usd'] })).toEqual(ours);
  });
});

describe('the rolling 52 weeks', () => {
  test('drop a week after 52 weeks', async () => {
    // Monday 6 January 2025 and Monday 5 January 2026 are 52 weeks apart: the first is not in the sum of the second.
    const result = await runReportOn('rolling-spend', [
      anInvoice([
        aShipment({ shipDate: '2025-01-06', cost: '100' }),
        aShipment({ shipDate: '2025-06-02', cost: '20' }),
        aShipment({ shipDate: '2026-01-05', cost: '3' }),
      ]),
    ]);
    const rows = cells(result, 'week', 'rolling_cost', 'change_on_week', 'is_full');
    expect(rows).toHaveLength(53);
    expect(rows[0]).toEqual(['2025-W02', '100.0000', null, false]);
    expect(rows.at(-2)).toEqual(['2026-W01', '120.0000', '0.0000', true]);
    expect(rows.at(-1)).toEqual(['2026-W02', '23.0000', '-97.0000', true]);
  });
});

describe('the usual amount of the invoice register', () => {
  test('compares with all earlier invoices, also when only one month is listed', async () => {
    const invoice = (number: string, day: string, cost: string) =>
      anInvoice([aShipment({ cost })], { number, date: day, due: '' });
    const result = await runReportOn(
      'register',
      [
        invoice('A', '2026-01-05', '100'),
        invoice('B', '2026-01-12', '110'),
        invoice('C', '2026-01-19', '90'),
        invoice('D', '2026-02-02', '150'),
      ],
      { filters: { from: '2026-02-01', to: '2026-02-28', by: 'invoice-date' } },
    );
    expect(cells(result, 'invoice_number', 'usual_total', 'is_unusual')).toEqual([['D', '100.0000', true]]);
  });
});

test('shows a budget for the requested months, carriers and tenants, and the budgets that apply to all', async () => {
  const line = (shipDate: string, tenant: string, carrier: string) =>
    anInvoice([aShipment({ shipDate, carrier, cost: '10' })], { tenant, tenantId: `id-of-${tenant}` });
  const invoices = [line('2026-02-10', 'Acme', 'ups'), line('2026-03-10', 'Beta', 'fedex')];
  const budget = await file(
    'budget-of-many',
    'month,tenant,carrier,currency_code,amount',
    '2026-02,,,USD,1',
    '2026-03,,,USD,2',
    '2026-03,acme,,USD,3',
    '2026-03,ID-OF-BETA,,USD,4',
    '2026-03,,UPS,USD,5',
    '2026-04,Beta,FedEx,USD,6',
  );
  const ask = async (filters: ReportFilters) =>
    cells(await runReportOn('budget', invoices, { tables: { budget }, filters }), 'budget')
      .flat()
      .map(Number);
  expect(await ask({})).toEqual([1, 2, 5, 4, 3, 6]);
  expect(await ask({ from: '2026-02-28', to: '2026-03-01' })).toEqual([1, 2, 5, 4, 3]);
  expect(await ask({ from: '2026-03-01' })).toEqual([2, 5, 4, 3, 6]);
  expect(await ask({ carriers: ['fedex'] })).toEqual([1, 2, 4, 3, 6]);
  expect(await ask({ tenants: ['beta'] })).toEqual([1, 2, 5, 4, 6]);
});

describe('weeks', () => {
  test('follow ISO 8601 across the end of a year and are compared with 52 weeks before', async () => {
    // 30 December 2024 is in the first week of 2025, 29 December 2025 in the first of 2026, 52 weeks later.
    const result = await runReportOn(
      'summary',
      [
        anInvoice([
          aShipment({ shipDate: '2024-12-30', cost: '40' }),
          aShipment({ shipDate: '2025-12-28', cost: '10' }),
          aShipment({ shipDate: '2025-12-29', cost: '30' }),
        ]),
      ],
      { parameters: { grain: 'week' } },
    );
    expect(
      cells(result, 'month', 'billing_cost', 'change_on_month', 'change_on_year', 'change_on_year_percent'),
    ).toEqual([
      ['2025-W01', '40.0000', null, null, null],
      ['2025-W52', '10.0000', null, null, null],
      ['2026-W01', '30.0000', '20.0000', '-10.0000', '-25.00'],
    ]);
  });
});

describe('the mix by month', () => {
  test('reports shifts of services and weights in unrounded points of shares', async () => {
    const lines = (month: string, ...parts: [string, string][]): FixtureShipment[] =>
      parts.map(([service, weight]) => aShipment({ shipDate: `2026-${month}-05`, service, weight }));
    const invoices = [
      anInvoice([
        ...lines('01', ['Ground', '1'], ['Ground', '4'], ['Air', '4']),
        ...lines('02', ['Ground', '1'], ['Ground', '1'], ['Ground', '200']),
      ]),
    ];
    const ask = async (by: string) =>
      cells(
        await runReportOn('mix', invoices, { parameters: { by } }),
        'month',
        'part',
        'share_of_shipments',
        'shift',
      );
    // Ground goes from two thirds to all; Air, which February does not have, has no row there.
    expect(await ask('service')).toEqual([
      ['2026-01', 'Air', '33.33', null],
      ['2026-01', 'Ground', '66.67', null],
      ['2026-02', 'Ground', '100.00', '33.33'],
    ]);
    expect(await ask('weight')).toEqual([
      ['2026-01', '0 to 1 lb', '33.33', null],
      ['2026-01', '3 to 5 lb', '66.67', null],
      ['2026-02', '0 to 1 lb', '66.67', '33.33'],
      ['2026-02', 'over 150 lb', '33.33', '33.33'],
    ]);
  });
});

describe('origins', () => {
  test('use their usual spelling and count the other spellings as odd', async () => {
    const origins = ['02139', '2139', ' 02139', 'k1a 0b1', '999', null];
    const invoices = [anInvoice(origins.map((origin) => aShipment({ origin })))];
    const cost = await runReportOn('cost', invoices, { parameters: { by: 'origin' } });
    // "999" may be a code that lost two zeros, but no origin is 00999.
    expect(new Map(cells(cost, 'origin', 'usual_origin') as [string, string][])).toEqual(
      new Map<string | null, string | null>([
        [' 02139', '02139'],
        ['02139', '02139'],
        ['2139', '02139'],
        ['999', '999'],
        ['k1a 0b1', 'K1A 0B1'],
        [null, null],
      ]),
    );
    const odd = cells(await runReportOn('data-quality', invoices), 'problem', 'shipments');
    expect(odd.filter(([problem]) => String(problem).startsWith('origin'))).toEqual([
      ['origin has an unusual spelling', 2],
      ['origin has lost its leading zero', 1],
      ['origin is missing', 1],
    ]);
  });
});
