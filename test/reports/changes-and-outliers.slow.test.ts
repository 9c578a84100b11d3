import { describe, expect, test } from 'vitest';
import { findReport } from '../../reports/catalogue.ts';
import { openReportSession } from '../../reports/report-session.ts';
import {
  anInvoice,
  aShipment,
  cells,
  type FixtureShipment,
  reportsFixture,
  runReportOn,
} from '../support/reports-fixture.ts';

const many = (count: number, stated: Partial<FixtureShipment>): FixtureShipment[] =>
  Array.from({ length: count }, () => aShipment(stated));

describe('bridge', () => {
  const january = { shipDate: '2026-01-10' };
  const february = { shipDate: '2026-02-10' };

  test('gives each carrier its own steps, the greatest change first', async () => {
    const lines = [
      ...many(2, { ...january, cost: '10', carrier: 'ups' }),
      ...many(3, { ...february, cost: '11', carrier: 'ups' }),
      ...many(2, { ...january, cost: '9', carrier: 'dhl' }),
      aShipment({ ...february, cost: '50', carrier: 'new' }),
    ];
    const result = await runReportOn('bridge', [anInvoice(lines)], { parameters: { by: 'carrier' } });
    // ups: 13 more, 10 of it volume, 3 price. Of what only one period has the whole change is one step.
    expect(cells(result, 'carrier', 'step', 'amount', 'shipments')).toEqual([
      ['new', 'first period', '0.0000', 0],
      ['new', 'not comparable', '50.0000', 1],
      ['new', 'second period', '50.0000', 1],
      ['dhl', 'first period', '18.0000', 2],
      ['dhl', 'not comparable', '-18.0000', -2],
      ['dhl', 'second period', '0.0000', 0],
      ['ups', 'first period', '20.0000', 2],
      ['ups', 'volume', '10.0000', 1],
      ['ups', 'price', '3.0000', null],
      ['ups', 'mix', '0.0000', null],
      ['ups', 'second period', '33.0000', 3],
    ]);
  });

  test('compares a second period that is given alone with the month before it', async () => {
    const on = (shipDate: string, cost: string) => aShipment({ shipDate, cost });
    const result = await runReportOn(
      'bridge',
      [anInvoice([on('2026-01-10', '10'), on('2026-02-10', '12'), on('2026-05-10', '99')])],
      { parameters: { second_from: '2026-02-01', second_to: '2026-02-28' } },
    );
    expect(cells(result, 'step', 'amount', 'period_from', 'period_to')).toEqual([
      ['first period', '10.0000', '2026-01-01', '2026-01-31'],
      ['volume', '0.0000', null, null],
      ['price', '2.0000', null, null],
      ['mix', '0.0000', null, null],
      ['second period', '12.0000', '2026-02-01', '2026-02-28'],
    ]);
  });
});

describe('bridge, rounding', () => {
  test('rounds the price effect once for all cells', async () => {
    // Zones 2 to 5 each had three parcels for 1.0000 in January, 0.33333… each; one in February costs 0.3334. Each cell's
    // effect is 0.3334 - 0.33333… = 0.00006666…, together 0.000266… = 0.0003; rounded by cell it would be 4 times 0.0001.
    const cell = (zone: string): FixtureShipment[] => [
      ...['0.3333', '0.3333', '0.3334'].map((cost) => aShipment({ zone, cost, shipDate: '2026-01-10' })),
      aShipment({ zone, cost: '0.3334', shipDate: '2026-02-10' }),
    ];
    const result = await runReportOn('bridge', [anInvoice(['2', '3', '4', '5'].flatMap(cell))]);
    expect(cells(result, 'step', 'amount')[2]).toEqual(['price', '0.0003']);
  });
});

describe('lines without a service, zone or weight', () => {
  // Each of these lacks one thing, four times in January at 10 and four times in February at 20; the fifth lacks nothing.
  const lacking: Partial<FixtureShipment>[] = [
    { service: null },
    { zone: null },
    { weight: null, unit: null },
    {},
  ];
  const invoices = [
    anInvoice(
      lacking.flatMap((stated) => [
        ...many(4, { ...stated, shipDate: '2026-01-10', cost: '10' }),
        ...many(4, { ...stated, shipDate: '2026-02-10', cost: '20' }),
      ]),
    ),
  ];

  test('are in no rate card and are no outlier', async () => {
    expect(
      cells(await runReportOn('rate-card', invoices), 'service_level', 'zone', 'lb', 'shipments'),
    ).toEqual([['Ground', '5', 2, 8]]);
    const odd = [
      ...many(9, { weight: null, unit: null, cost: '10' }),
      aShipment({ weight: null, unit: null, cost: '90' }),
    ];
    expect((await runReportOn('outliers', [anInvoice(odd)])).rows).toEqual([]);
  });

  test('are no price change, and count as mix in a bridge', async () => {
    expect(cells(await runReportOn('price-changes', invoices), 'cells_compared')).toEqual([[1]]);
    // 160 to 320: as many shipments, so no volume. Four at 10 more are 40; the other 120 are mix.
    expect(
      cells(await runReportOn('bridge', invoices), 'amount')
        .flat()
        .slice(1, 4),
    ).toEqual(['0.0000', '40.0000', '120.0000']);
  });

  test('are repriced by no other carrier', async () => {
    const result = await runReportOn('what-if', [
      anInvoice([
        ...many(4, { carrier: 'ups', service: null }),
        ...many(4, { carrier: 'dhl', service: null }),
      ]),
    ]);
    expect(result.rows).toEqual([]);
  });
});

describe('a change over a base below zero', () => {
  test('has an amount and no percentage', async () => {
    // From -18 to 64 is 82 more; 82 of -18 would read -455.56 %.
    const result = await runReportOn('summary', [
      anInvoice([
        aShipment({ shipDate: '2026-01-10', cost: '-18' }),
        aShipment({ shipDate: '2026-02-10', cost: '64' }),
      ]),
    ]);
    expect(cells(result, 'month', 'change_on_month', 'change_on_month_percent')).toEqual([
      ['2026-01', null, null],
      ['2026-02', '82.0000', null],
    ]);
  });
});

describe('a filter by date', () => {
  const filters = { by: 'invoice-date', from: '2026-10-01', to: '2026-10-31' } as const;
  const on = (invoiceDate: string, cost: string, rest: Partial<FixtureShipment> = {}) =>
    aShipment({ invoiceDate, cost, weight: '2', ...rest });
  const several = (count: number, line: FixtureShipment) => Array.from({ length: count }, () => line);

  test('keeps the earlier months that a price is compared with', async () => {
    const lines = [...several(3, on('2026-09-10', '10')), ...several(3, on('2026-10-10', '11'))];
    const result = await runReportOn('price-changes', [anInvoice(lines)], { filters });
    expect(cells(result, 'month', 'median_change_percent', 'shipments')).toEqual([['2026-10', '10.00', 3]]);
  });

  test('keeps the like shipments of an outlier, and outliers outside the filter do not use up the limit', async () => {
    const lines = [
      ...several(16, on('2026-09-10', '10')),
      ...[on('2026-09-11', '90'), on('2026-10-11', '60'), on('2026-10-12', '10')],
    ];
    const asked = { filters, parameters: { limit: '1' } };
    const result = await runReportOn('outliers', [anInvoice(lines)], asked);
    expect(cells(result, 'billing_cost', 'median', 'like_shipments')).toEqual([['60.0000', '10.0000', 19]]);
  });

  test('keeps the earlier minimum charge and the prices of all zones', async () => {
    const zones = (day: string, cost: string) =>
      ['2', '3', '4'].flatMap((zone) => several(3, on(day, cost, { zone })));
    const lines = [...zones('2026-09-10', '9'), ...zones('2026-10-10', '10')];
    const result = await runReportOn('minimum-charges', [anInvoice(lines)], {
      filters: { ...filters, zones: ['2'] },
    });
    expect(cells(result, 'month', 'minimum_charge', 'change', 'shipments')).toEqual([
      ['2026-10', '10.0000', '1.0000', 3],
    ]);
  });

  test('keeps the usual weights that a heavy parcel is compared with', async () => {
    const lines = [...several(20, on('2026-09-10', '10')), on('2026-10-10', '40', { weight: '24' })];
    const result = await runReportOn('dimensional-weight', [anInvoice(lines)], { filters });
    expect(cells(result, 'billed_lb', 'usual_lb', 'like_shipments')).toEqual([[24, 2, 21]]);
  });
});

describe('outliers', () => {
  test('compares the score before it is rounded', async () => {
    // As above 29.5 * 0.6745 / 1.5 = 13.26516…: 13.27 rounded, and not as much as that.
    const lines = ['8', '9', '10', '10', '11', '12', '13', '40'].map((cost) => aShipment({ cost }));
    const beyond = async (threshold: string) =>
      (await runReportOn('outliers', [anInvoice(lines)], { parameters: { threshold } })).rows.length;
    expect([await beyond('13.2651'), await beyond('13.2652')]).toEqual([1, 0]);
  });

  test('uses the mean distance when most shipments cost exactly the same', async () => {
    const result = await runReportOn('outliers', [
      anInvoice([...many(9, { cost: '10' }), aShipment({ cost: '30' })]),
    ]);
    // Mean distance 2; 20 / (1.253314 * 2) = 7.9788...
    expect(cells(result, 'billing_cost', 'robust_z')).toEqual([['30.0000', '7.98']]);
  });

  test('lists the most money first and reports how many rows the limit leaves out', async () => {
    const lines = ['2', '8'].flatMap((zone) => [
      ...many(9, { zone, cost: '10' }),
      aShipment({ zone, cost: `${zone}0` }),
    ]);
    const asked = (parameters: Record<string, string>) =>
      runReportOn('outliers', [anInvoice(lines)], { parameters });
    const cut = '1 of 2 rows: the limit leaves out the others.';
    const one = await asked({ limit: '1' });
    expect([cells(one, 'billing_cost'), one.head.notes.includes(cut)]).toEqual([[['80.0000']], true]);
    const all = await asked({});
    expect([cells(all, 'billing_cost'), all.head.notes.includes(cut)]).toEqual([
      [['80.0000'], ['20.0000']],
      false,
    ]);
    expect(all.head.parameters.limit).toBe('100000');
  });

  test('refuses to answer in part without an explicit limit', async () => {
    const { sql, ...report } = findReport('late-billed');
    const invoices = [anInvoice(many(3, { shipDate: '2026-01-01', invoiceDate: '2026-06-01' }))];
    const fixture = await reportsFixture(invoices);
    const session = await openReportSession({ databasePath: fixture.path });
    try {
      const parameters = report.parameters.map((each) =>
        each.name === 'limit' ? { ...each, default: '2' } : each,
      );
      await expect(session.run({ ...report, sql, parameters })).rejects.toThrow('has 3 rows');
      expect((await session.run({ ...report, sql, parameters }, { limit: '3' })).head.notes).toEqual([]);
    } finally {
      session.close();
      await fixture.remove();
    }
  });
});

describe('duplicates', () => {
  test('subtracts a credit from one charge of the same amount', async () => {
    const lines = (...costs: string[]): FixtureShipment[] =>
      costs.map((cost) => aShipment({ tracking: 'A', cost }));
    const paired = await runReportOn('duplicates', [anInvoice(lines('10', '10', '-10'))]);
    expect(cells(paired, 'kind', 'money_at_risk')).toEqual([['credit', '0.0000']]);
    const twice = await runReportOn('duplicates', [anInvoice(lines('10', '10', '10', '-10', '-1'))]);
    expect(cells(twice, 'same_amount', 'credited', 'money_at_risk')).toEqual([[true, '-11.0000', '9.0000']]);
  });

  test('examines the filtered lines together with their other lines of all months', async () => {
    const line = (tracking: string, invoiceDate: string, cost: string, weight: string): FixtureShipment =>
      aShipment({ tracking, invoiceDate, cost, weight, unit: 'LB' });
    const invoices = [
      anInvoice([line('TWICE', '2026-09-28', '10', '2.5'), line('HEAVIER', '2026-09-28', '10', '2.5')]),
      anInvoice([line('TWICE', '2026-10-05', '10', '2.5'), line('HEAVIER', '2026-10-05', '0.8', '3')]),
      anInvoice([line('LATER', '2026-11-05', '10', '2.5'), line('LATER', '2026-11-05', '10', '2.5')]),
    ];
    const filters = { by: 'invoice-date', from: '2026-10-01', to: '2026-10-31' };
    const result = await runReportOn('duplicates', invoices, { filters });
    expect(cells(result, 'tracking_number', 'kind', 'lines', 'money_at_risk')).toEqual([
      ['TWICE', 'same charge again', 2, '10.0000'],
      ['HEAVIER', 'adjustment', 2, '0.0000'],
    ]);
  });

  test('keeps tenants, carriers and currencies apart', async () => {
    const result = await runReportOn('duplicates', [
      anInvoice([aShipment({ tracking: 'A', cost: '4', tenant: 'Acme' })]),
      anInvoice([aShipment({ tracking: 'A', cost: '6', tenant: 'Beta' })]),
      anInvoice([
        aShipment({ tracking: 'A', cost: '4', carrier: 'fedex' }),
        aShipment({ tracking: 'A', cost: '4', carrier: 'dhl' }),
      ]),
      anInvoice([aShipment({ tracking: 'A', cost: '4', currency: 'EUR' })]),
    ]);
    expect(cells(result, 'carrier', 'scope', 'same_amount', 'money_at_risk', 'tenant_names')).toEqual([
      ['ups', 'across tenants', false, '4.0000', 'Acme, Beta'],
    ]);
  });
});
