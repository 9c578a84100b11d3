import { afterAll, describe, expect, test } from 'vitest';
import { findReport } from '../../reports/catalogue.ts';
import { runCompared } from '../../reports/compare.ts';
import { pivoted } from '../../reports/pivot.ts';
import { runReport } from '../../reports/report-session.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';

const october = { shipDate: '2026-10-05', currency: 'GBP' };
const september = { shipDate: '2026-09-30', currency: 'GBP' };
const fixture = await reportsFixture([
  ...seededInvoices(4, 40),
  anInvoice([
    aShipment({ ...october, carrier: 'ups', cost: '30.0001' }),
    aShipment({ ...september, carrier: 'ups', cost: '20' }),
    aShipment({ ...october, carrier: 'new', cost: '5' }),
    aShipment({ ...september, carrier: 'gone', cost: '7.5' }),
    aShipment({ ...september, carrier: 'credit', cost: '-2' }),
    aShipment({ ...october, carrier: 'credit', cost: '1' }),
  ]),
]);
afterAll(() => fixture.remove());

describe('a report put side by side', () => {
  const runWith = (parameters: Readonly<Record<string, string>>, pivot: string, name = 'cost') =>
    runCompared(
      { databasePath: fixture.path, name, parameters, filters: { currencies: ['GBP'] } },
      { pivot },
    );

  test('refuses columns that cannot be pivoted and more than 60 values', async () => {
    await expect(runWith({ by: 'carrier' }, 'carrier')).rejects.toThrow('by two columns or more');
    await expect(runWith({ by: 'carrier+month' }, 'tenant')).rejects.toThrow('take month, carrier.');
    await expect(runWith({}, 'carrier', 'gaps')).rejects.toMatchObject({ code: 'invalid-filter' });
    const report = findReport('cost');
    const result = await runReport({
      databasePath: fixture.path,
      name: 'cost',
      parameters: { by: 'carrier+month' },
    });
    const rows = Array.from({ length: 61 }, (_, index) => ({ ...result.rows[0], month: `m${index}` }));
    expect(() => pivoted(report, { ...result, rows }, 'month')).toThrow('There are 61 values of month');
  });
});

describe('the order of what is made of reports', () => {
  test.each([
    ['carrier', ['ups', 'UPS', null, '9', '10'], ['10', '9', 'UPS', 'ups', '(none)']],
    ['zone', ['17.5', 'EU', null, '102', '9'], ['9', '17.5', '102', 'EU', '(none)']],
    [
      'weight_break',
      ['no weight', 'over 150 lb', '10 to 20 lb', '0 to 1 lb', '2 to 3 lb', '0 lb'],
      ['0 lb', '0 to 1 lb', '2 to 3 lb', '10 to 20 lb', 'over 150 lb', 'no weight'],
    ],
  ])('sorts the columns of %s like its rows', async (across, values, expected) => {
    const report = findReport('cost');
    const parameters = {
      by: across === 'carrier' ? 'carrier+month' : `month+${across.replace('_break', '')}`,
    };
    const result = await runReport({ databasePath: fixture.path, name: 'cost', parameters });
    const rows = values.map((value) => ({ ...result.rows[0], month: '2026-10', [across]: value }));
    const { columns } = pivoted(report, { ...result, rows }, across).result;
    expect(columns.map(({ name }) => name).filter((name) => expected.includes(name))).toEqual(expected);
  });
});

describe('a report compared', () => {
  const request = { from: '2026-10-01', to: '2026-10-31' };
  const runWith = (name: string, parameters: Readonly<Record<string, string>> = {}) =>
    runCompared({ databasePath: fixture.path, name, filters: request, parameters }, { compare: 'previous' });

  test('refuses reports that have no period', async () => {
    for (const [name, parameters] of [
      ['summary', {}],
      ['gaps', {}],
      ['cost', { by: 'month+carrier' }],
      ['levels', {}],
    ] as const)
      await expect(runWith(name, parameters)).rejects.toThrow(new RegExp(`${name} cannot be compared`));
  });
});
