/** Month end and gaps: cases that the independent computations do not cover. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ReportFilters } from '../../reports/report-filters.ts';
import { testFolder } from '../support/folders.ts';
import {
  anInvoice,
  aShipment,
  cells,
  type FixtureShipment,
  runReportOn,
} from '../support/reports-fixture.ts';

describe('accrual', () => {
  const billed = (month: number, later: number, cost: string, stated: Partial<FixtureShipment> = {}) =>
    aShipment({
      shipDate: `2026-0${month}-10`,
      invoiceDate: `2026-0${month + later}-15`,
      cost,
      ...stated,
    });
  const estimate = async (
    lines: readonly FixtureShipment[],
    publishedAt: string,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<unknown[][]> =>
    cells(
      await runReportOn('accrual', [anInvoice(lines)], { publishedAt, parameters }),
      'ship_month',
      'basis',
      'estimated_total',
      'estimated_unbilled',
    );

  test('ignores a month that had nothing before and something after', async () => {
    // January to April had nothing by their own end and 40 a month later: growth over nothing is no number.
    const lines = [1, 2, 3, 4].map((month) => billed(month, 1, '40'));
    const may = await estimate([...lines, billed(5, 0, '1')], '2026-06-05T00:00:00Z', {
      complete_after: '1',
    });
    expect(may.at(-1)).toEqual(['2026-05', 'not enough history', null, null]);
  });

  test('counts age from the publication date, not from the newest line', async () => {
    // Nothing was invoiced since April; in September every month is older than three months all the same.
    const lines = [billed(3, 0, '30'), billed(3, 1, '5')];
    expect(await estimate(lines, '2026-09-01T00:00:00Z')).toEqual([
      ['2026-03', 'complete', '35.0000', '0.0000'],
    ]);
    // In the middle of March that month is not closed, and a month counts as ended on its last day.
    expect(await estimate([billed(3, 0, '30')], '2026-03-30T23:00:00Z')).toEqual([]);
    expect(await estimate([billed(3, 0, '30')], '2026-03-30T23:00:00Z', { closing: '2026-03-31' })).toEqual([
      ['2026-03', 'month has not ended', null, null],
    ]);
    expect(await estimate([billed(3, 0, '30')], '2026-03-31T01:00:00Z')).toEqual([
      ['2026-03', 'not enough history', null, null],
    ]);
  });

  test('counts age as of the requested instant', async () => {
    const invoice = anInvoice([billed(1, 0, '30')], { loadedAt: '2026-01-16T00:00:00Z' });
    const basis = async (asKnownOn: string) =>
      cells(await runReportOn('accrual', [invoice], { filters: { asKnownOn } }), 'age', 'basis');
    expect(await basis('2026-01-20')).toEqual([]);
    expect(await basis('2026-03-15')).toEqual([[1, 'not enough history']]);
  });
});

describe('gaps', () => {
  const weekly = (start: string, number: string, tenant = 'Acme'): ReturnType<typeof anInvoice> => {
    const day = (days: number): string =>
      new Date(Date.parse(`${start}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
    return anInvoice([aShipment({ tenant })], { tenant, number, start, end: day(6), date: day(8) });
  };
  const weeks = ['2026-01-05', '2026-01-12', '2026-01-19', '2026-02-09', '2026-02-16'];
  const invoices = weeks.map((start, index) => weekly(start, `INV-${index + 1}`));

  test('reports when the next invoice is overdue', async () => {
    const on = async (publishedAt: string): Promise<unknown[][]> =>
      cells(
        await runReportOn('gaps', invoices.slice(0, 3), { publishedAt }),
        'kind',
        'missing',
        'after_invoice',
        'expected_to',
      );
    // The next period, 26 January to 1 February, ends when the step after it begins: 2 February, and 2 + 2 days of grace.
    expect(await on('2026-02-05T23:00:00Z')).toEqual([]);
    expect(await on('2026-02-06T00:00:00Z')).toEqual([['overdue', 1, 'INV-3', '2026-02-01']]);
    expect(await on('2026-02-13T00:00:00Z')).toEqual([['overdue', 2, 'INV-3', '2026-02-08']]);
  });

  test('counts an invoice that is known only from its details, without a partner', async () => {
    const numbered = [1, 2, 3, 4, 5, 6].map((number, index) =>
      weekly(`2026-01-0${index + 1}`, `B-${number}`, ['Acme', 'Beta'][index % 2]),
    );
    for (const without of [[2], [2, 3]]) {
      const fetched = numbered.map((invoice, index) =>
        without.includes(index) ? { ...invoice, partnerId: null } : invoice,
      );
      const result = await runReportOn('gaps', fetched, { publishedAt: '2026-01-07T00:00:00Z' });
      expect(cells(result, 'kind', 'finding')).toEqual([]);
    }
  });

  test('starts a gap on the first uncovered day, whether periods end on their last day or on the next first day', async () => {
    // Periods that end where the next begins: after 5 to 12 and 12 to 19 January, 19 January is open.
    const touching = ['2026-01-05', '2026-01-12', '2026-02-02', '2026-02-09'].map((start, index) => {
      const end = new Date(Date.parse(start) + 7 * 86_400_000).toISOString().slice(0, 10);
      return anInvoice([aShipment()], { number: `T${index}x`, start, end, date: end });
    });
    const result = await runReportOn('gaps', touching, { publishedAt: '2026-02-17T00:00:00Z' });
    expect(cells(result, 'expected_from', 'expected_to')).toEqual([['2026-01-19', '2026-02-01']]);
    // A longer invoice covers the days between two others.
    const covered = [
      ...['2026-01-05', '2026-01-12', '2026-01-19'].map((start, index) => weekly(start, `C${index}x`)),
      anInvoice([aShipment()], { number: 'C3x', start: '2026-01-19', end: '2026-02-15', date: '2026-02-17' }),
      ...['2026-02-16', '2026-02-23'].map((start, index) => weekly(start, `C${index}y`)),
    ];
    expect(
      cells(await runReportOn('gaps', covered, { publishedAt: '2026-03-04T00:00:00Z' }), 'kind'),
    ).toEqual([]);
  });

  test('does not report numbers that another tenant has, nor a block between two tenants', async () => {
    // Three tenants take turns in one sequence, 1 to 12; each alone would miss two of three.
    const turns = Array.from({ length: 12 }, (_, index) =>
      weekly(
        `2026-01-${String(index + 1).padStart(2, '0')}`,
        `S-${index + 1}`,
        ['Acme', 'Beta', 'Gamma'][index % 3],
      ),
    );
    const numbers = async (list: readonly ReturnType<typeof anInvoice>[]) =>
      (await runReportOn('gaps', list, { publishedAt: '2026-01-13T00:00:00Z' })).rows.filter(
        (row) => row.kind === 'number',
      );
    expect(await numbers(turns)).toEqual([]);
    // Two tenants have a block each: the thousand numbers between belong to neither.
    const blocks = [1, 2, 3, 4, 1001, 1002, 1003, 1004].map((number, index) =>
      weekly(`2026-01-0${index + 1}`, `K-${number}`, index < 4 ? 'Acme' : 'Beta'),
    );
    expect(await numbers(blocks)).toEqual([]);
  });

  test('does not expect an invoice before it is due to begin', async () => {
    // Number 5 was given to an earlier day than number 3.
    const days = ['10', '11', '12', '02', '03', '04', '05'];
    const list = [1, 2, 3, 5, 6, 7, 8].map((number, index) =>
      weekly(`2026-01-${days[index]}`, `R-${number}`),
    );
    const result = await runReportOn('gaps', list, { publishedAt: '2026-01-20T00:00:00Z' });
    const [gap] = result.rows.filter((row) => row.kind === 'number');
    expect([gap?.expected_from, gap?.expected_to, gap?.missing]).toEqual(['2026-01-10', '2026-01-20', 1]);
  });

  test('derives no pattern from two invoices or from random numbers', async () => {
    const result = await runReportOn('gaps', [weekly('2026-01-05', 'X-17'), weekly('2026-01-12', 'X-90')], {
      publishedAt: '2026-06-01T00:00:00Z',
    });
    expect(result.rows).toEqual([]);
  });
});

const folder = testFolder();

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
    const runWith = async (filters: ReportFilters) =>
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
    expect(await runWith({})).toEqual([
      ['UPS', 'EUR', '7.0000'],
      ['OnTrac', 'USD', '5.0000'],
      ['OnTrac', 'USD', '6.0000'],
      ...ours,
    ]);
    expect(await runWith({ carriers: ['ups'] })).toEqual([['UPS', 'EUR', '7.0000'], ...ours]);
    expect(await runWith({ carriers: ['ups'], currencies: ['usd'] })).toEqual(ours);
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
  const runWith = async (filters: ReportFilters) =>
    cells(await runReportOn('budget', invoices, { tables: { budget }, filters }), 'budget')
      .flat()
      .map(Number);
  expect(await runWith({})).toEqual([1, 2, 5, 4, 3, 6]);
  expect(await runWith({ from: '2026-02-28', to: '2026-03-01' })).toEqual([1, 2, 5, 4, 3]);
  expect(await runWith({ from: '2026-03-01' })).toEqual([2, 5, 4, 3, 6]);
  expect(await runWith({ carriers: ['fedex'] })).toEqual([1, 2, 4, 3, 6]);
  expect(await runWith({ tenants: ['beta'] })).toEqual([1, 2, 5, 4, 6]);
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
      cells(result, 'week', 'billing_cost', 'change_on_previous', 'change_on_year', 'change_on_year_percent'),
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
    const runWith = async (by: string) =>
      cells(
        await runReportOn('mix', invoices, { parameters: { by } }),
        'month',
        'part',
        'share_of_shipments',
        'shift',
      );
    // Ground goes from two thirds to all; Air, which February does not have, has no row there.
    expect(await runWith('service')).toEqual([
      ['2026-01', 'Air', '33.33', null],
      ['2026-01', 'Ground', '66.67', null],
      ['2026-02', 'Ground', '100.00', '33.33'],
    ]);
    expect(await runWith('weight')).toEqual([
      ['2026-01', '0 to 1 lb', '33.33', null],
      ['2026-01', '3 to 5 lb', '66.67', null],
      ['2026-02', '0 to 1 lb', '66.67', '33.33'],
      ['2026-02', 'over 150 lb', '33.33', '33.33'],
    ]);
  });
});

test('a text that looks like a value of another column is found', async () => {
  const shifted = [
    ...['1Z00012345678', '123456789012', '2026-03-02', '10.50', '-3.1234'].flatMap((text) => [
      { zone: text },
      { service: text },
      { carrier: text },
    ]),
    { origin: '1ZSAME', tracking: '1ZSAME' },
  ];
  const plain = [
    { zone: 'Zone 8' },
    { zone: '1234567' },
    { service: '2Day Air 10:30' },
    { carrier: 'ups' },
    { origin: '941071234' },
  ];
  const invoice = anInvoice([...shifted, ...plain].map((stated) => aShipment(stated)));
  const found = cells(await runReportOn('data-quality', [invoice]), 'problem', 'shipments');
  expect(found).toContainEqual(['a text looks like a value of another column', shifted.length]);
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
