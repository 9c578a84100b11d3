/** What a controller asks at month end, each with a few lines and the answer worked out by hand. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReportFilters } from '../../reports/report-filters.ts';
import { askReport, cells } from '../support/reports/ask-report.ts';
import { anInvoice, aShipment, type FixtureShipment } from '../support/reports/reports-fixture.ts';

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
  test('is met by the carrier invoice date, however the carrier is spelled', async () => {
    const on = (carrier: string, day: string | null, cost: string): FixtureShipment =>
      aShipment({ carrier, carrierInvoiceDate: day, cost });
    const invoices = [
      // 10 and 15 less 5 come from the carrier's invoice of 6 March, whether it is called UPS or ups: 20.
      anInvoice([
        on('ups', '2026-03-06', '10'),
        on('UPS', '2026-03-06', '15'),
        on('ups', '2026-03-06', '-5'),
      ]),
      anInvoice([on('ups', '2026-03-13', '8'), on('ups', null, '3')]),
    ];
    const statements = await file(
      'statements',
      'carrier,carrier_invoice_date,currency_code,amount',
      'Ups,2026-03-06,usd,12.50',
      'ups,2026-03-06,USD,7.50',
      'ups,2026-03-20,USD,4',
    );
    const result = await askReport('carrier-statements', invoices, { tables: { statements } });
    expect(cells(result, 'carrier_invoice_date', 'billing_cost', 'credits', 'difference', 'state')).toEqual([
      ['2026-03-06', '20.0000', '-5.0000', '0.0000', 'agrees'],
      ['2026-03-13', '8.0000', '0.0000', null, 'not stated'],
      ['2026-03-20', '0.0000', '0.0000', '-4.0000', 'not billed'],
      [null, '3.0000', '0.0000', null, 'not stated'],
    ]);
  });

  test('have one spelling of a carrier in all rows, and are only of the carriers and currencies asked for', async () => {
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
        await askReport('carrier-statements', invoices, { tables: { statements }, filters }),
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

describe('late lines', () => {
  test('begin on the day after the limit, and say whether the number was billed before', async () => {
    const billed = (tracking: string, shipDate: string, invoiceDate: string, cost: string): FixtureShipment =>
      aShipment({ tracking, shipDate, invoiceDate, cost, carrierInvoiceDate: null });
    const result = await askReport(
      'late-billed',
      [
        anInvoice([
          // 30 days after shipping are within 30, 31 are a day late.
          billed('A', '2026-01-01', '2026-01-31', '9'),
          billed('B', '2026-01-01', '2026-02-01', '7'),
          // C was billed in time and adjusted 60 days after it was shipped: 30 days late.
          billed('C', '2026-01-01', '2026-01-10', '10'),
          billed('C', '2026-01-01', '2026-03-02', '-12'),
        ]),
      ],
      { parameters: { days: '30' } },
    );
    expect(
      cells(result, 'tracking_number', 'days_to_invoice', 'days_late', 'billing_cost', 'first_billed_on'),
    ).toEqual([
      ['C', 60, 30, '-12.0000', '2026-01-10'],
      ['B', 31, 1, '7.0000', '2026-02-01'],
    ]);
  });
});

describe('adjustments and disputes', () => {
  const line = (tracking: string, invoiceDate: string, cost: string, more: Partial<FixtureShipment> = {}) =>
    aShipment({ tracking, invoiceDate, cost, ...more });

  test('set what was credited against what was disputed', async () => {
    const invoices = [
      anInvoice([
        // A: 10, then 6 more for another zone; 6 disputed and 4 credited, so 2 are still open.
        line('A', '2026-03-10', '10', { zone: '5' }),
        line('A', '2026-04-10', '6', { zone: '8' }),
        line('A', '2026-05-10', '-4'),
        // B was credited although nobody asked; C was credited 3 of the 2 that were disputed; D is only disputed.
        line('B', '2026-03-10', '5'),
        line('B', '2026-04-10', '-5'),
        line('C', '2026-03-10', '9'),
        line('C', '2026-04-10', '-3'),
        line('D', '2026-03-10', '8'),
        line('E', '2026-03-10', '8'),
      ]),
    ];
    const disputes = await file(
      'disputes',
      'carrier,tracking_number,currency_code,amount',
      'UPS,A,USD,5',
      'ups,A,USD,1',
      'ups,C,USD,2',
      'ups,D,USD,8',
    );
    const result = await askReport('adjustments', invoices, { tables: { disputes } });
    const first = await askReport('adjustments', invoices, {
      tables: { disputes },
      parameters: { limit: '1' },
    });
    expect(first.rows).toEqual(result.rows.slice(0, 1));
    expect(first.head.notes).toContain(`1 of ${result.rows.length} rows: the limit leaves out the others.`);
    const columns = [
      'tracking_number',
      'first_charge',
      'adjusted',
      'credited',
      'changed',
      'disputed',
      'outstanding',
    ];
    expect(cells(result, ...columns)).toEqual([
      ['A', '10.0000', '6.0000', '-4.0000', 'zone', '6.0000', '2.0000'],
      ['B', '5.0000', '0.0000', '-5.0000', null, null, null],
      ['C', '9.0000', '0.0000', '-3.0000', null, '2.0000', '0.0000'],
      ['D', '8.0000', '0.0000', '0.0000', null, '8.0000', '8.0000'],
    ]);
  });
});

describe('the rolling 52 weeks', () => {
  test('lose a week after 52 of them', async () => {
    // Monday 6 January 2025 and Monday 5 January 2026 are 52 weeks apart: the first is not in the sum of the second.
    const result = await askReport('rolling-spend', [
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

describe('the invoice register', () => {
  test('holds an invoice against the median of those before it, and adds up cash by due date', async () => {
    const invoice = (number: string, day: string, due: string, cost: string) =>
      anInvoice([aShipment({ cost })], { number, date: day, due });
    const result = await askReport(
      'register',
      [
        invoice('A', '2026-01-05', '2026-02-05', '100'),
        invoice('B', '2026-01-12', '2026-02-12', '110'),
        invoice('C', '2026-01-19', '', '90'),
        // The median of 100, 110 and 90 is 100: 150 is half more, which is unusual; 149.99 would not be.
        invoice('D', '2026-01-26', '2026-02-05', '150'),
      ],
      { publishedAt: '2026-02-10T00:00:00Z' },
    );
    const columns = ['invoice_number', 'usual_total', 'difference_percent', 'is_unusual', 'days_past_due'];
    expect(cells(result, ...columns, 'cash_until_due')).toEqual([
      ['A', null, null, null, 5, '250.0000'],
      ['D', '100.0000', '50.00', true, 5, '250.0000'],
      ['B', null, null, null, 0, '360.0000'],
      // Without a due date nothing is past due, and no day needs its cash.
      ['C', null, null, null, null, null],
    ]);
  });
});

describe('what is usual in the invoice register', () => {
  test('is so of all earlier invoices, also when only one month is listed', async () => {
    const invoice = (number: string, day: string, cost: string) =>
      anInvoice([aShipment({ cost })], { number, date: day, due: '' });
    const result = await askReport(
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

describe('a budget', () => {
  test('is compared in its own currency, at the rate of the month before one for all', async () => {
    const invoices = [
      anInvoice([
        aShipment({ shipDate: '2026-02-10', cost: '50', currency: 'EUR' }),
        aShipment({ shipDate: '2026-03-10', cost: '50', currency: 'EUR' }),
        aShipment({ shipDate: '2026-03-10', cost: '30', currency: 'USD', carrier: 'fedex' }),
        aShipment({ shipDate: '2026-03-11', cost: '9', currency: 'GBP' }),
      ]),
    ];
    const budget = await file(
      'budget',
      'month,tenant,carrier,currency_code,amount',
      '2026-02,,,USD,60',
      '2026-03,ACME,,USD,70',
      '2026-03,acme,,USD,20',
      '2026-03,,FedEx,USD,0',
    );
    const fx = await file(
      'fx',
      'month,from_currency,to_currency,rate',
      ',EUR,USD,1.1',
      '2026-03,EUR,USD,1.2',
    );
    const result = await askReport('budget', invoices, { tables: { budget, fx } });
    // February: 50 at 1.1 are 55 of 60. March for Acme: 50 at 1.2 and 30 are 90 of 70 + 20; of the pounds nothing is known.
    // FedEx has no budget in March, so that 30 are no percentage of it.
    const columns = ['month', 'carrier', 'shipments', 'budget', 'billing_cost', 'variance', 'used_percent'];
    expect(cells(result, ...columns, 'unconverted')).toEqual([
      ['2026-02', null, 1, '60.0000', '55.0000', '-5.0000', '91.67', 0],
      ['2026-03', 'FedEx', 1, '0.0000', '30.0000', '30.0000', null, 0],
      ['2026-03', null, 3, '90.0000', '90.0000', '0.0000', '100.00', 1],
    ]);
  });
});

test('a budget is shown of the months, carriers and tenants asked for, and that of all of them', async () => {
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
    cells(await askReport('budget', invoices, { tables: { budget }, filters }), 'budget')
      .flat()
      .map(Number);
  expect(await ask({})).toEqual([1, 2, 5, 4, 3, 6]);
  expect(await ask({ from: '2026-02-28', to: '2026-03-01' })).toEqual([1, 2, 5, 4, 3]);
  expect(await ask({ from: '2026-03-01' })).toEqual([2, 5, 4, 3, 6]);
  expect(await ask({ carriers: ['fedex'] })).toEqual([1, 2, 4, 3, 6]);
  expect(await ask({ tenants: ['beta'] })).toEqual([1, 2, 5, 4, 6]);
});

describe('weeks', () => {
  test('are those of ISO 8601, across a year’s end, and compare with 52 weeks before', async () => {
    // 30 December 2024 is in the first week of 2025, 29 December 2025 in the first of 2026, 52 weeks later.
    const result = await askReport(
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
  test('of services and of weights shifts by points of shares that are not rounded', async () => {
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
        await askReport('mix', invoices, { parameters: { by } }),
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
  test('that are one place are told by their usual spelling, and counted as odd', async () => {
    const origins = ['02139', '2139', ' 02139', 'k1a 0b1', '999', null];
    const invoices = [anInvoice(origins.map((origin) => aShipment({ origin })))];
    const cost = await askReport('cost', invoices, { parameters: { by: 'origin' } });
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
    const odd = cells(await askReport('data-quality', invoices), 'problem', 'shipments');
    expect(odd.filter(([problem]) => String(problem).startsWith('origin'))).toEqual([
      ['origin has an unusual spelling', 2],
      ['origin has lost its leading zero', 1],
      ['origin is missing', 1],
    ]);
  });
});
