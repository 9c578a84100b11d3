/** What moved spend, and what stands out: small cases worked out by hand. */

import { describe, expect, test } from 'vitest';
import { findReport } from '../../reports/catalogue.ts';
import { openReportSession } from '../../reports/report-session.ts';
import { askReport, cells } from '../support/reports/ask-report.ts';
import {
  anInvoice,
  aShipment,
  type FixtureShipment,
  reportsFixture,
} from '../support/reports/reports-fixture.ts';

const many = (count: number, stated: Partial<FixtureShipment>): FixtureShipment[] =>
  Array.from({ length: count }, () => aShipment(stated));

describe('bridge', () => {
  const january = { shipDate: '2026-01-10' };
  const february = { shipDate: '2026-02-10' };

  test('splits a change into volume, price and mix that add up exactly', async () => {
    // January: 10 ground at 8, 10 air at 20 = 280, mean 14. February: 15 ground at 9, 9 air at 20 = 315.
    const result = await askReport('bridge', [
      anInvoice([
        ...many(10, { ...january, cost: '8', service: 'Ground' }),
        ...many(10, { ...january, cost: '20', service: 'Air' }),
        ...many(15, { ...february, cost: '9', service: 'Ground' }),
        ...many(9, { ...february, cost: '20', service: 'Air' }),
      ]),
    ]);
    // Volume: 4 more at 14 = 56. Price: 15 at 1 more = 15. Mix: 35 - 56 - 15 = -36.
    expect(cells(result, 'step', 'amount', 'shipments')).toEqual([
      ['first period', '280.0000', 20],
      ['volume', '56.0000', 4],
      ['price', '15.0000', null],
      ['mix', '-36.0000', null],
      ['second period', '315.0000', 24],
    ]);
  });

  test('counts cells that only one period has as mix', async () => {
    const result = await askReport('bridge', [
      anInvoice([
        ...many(2, { ...january, cost: '10' }),
        aShipment({ ...february, cost: '10' }),
        aShipment({ ...february, cost: '30', carrier: 'dhl' }),
      ]),
    ]);
    expect(cells(result, 'step', 'amount').slice(1, 4)).toEqual([
      ['volume', '0.0000'],
      ['price', '0.0000'],
      ['mix', '20.0000'],
    ]);
  });

  test('is built for each carrier, the greatest change first', async () => {
    const lines = [
      ...many(2, { ...january, cost: '10', carrier: 'ups' }),
      ...many(3, { ...february, cost: '11', carrier: 'ups' }),
      ...many(2, { ...january, cost: '9', carrier: 'dhl' }),
      aShipment({ ...february, cost: '50', carrier: 'new' }),
    ];
    const result = await askReport('bridge', [anInvoice(lines)], { parameters: { by: 'carrier' } });
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

  test('compares a second period that is given alone with the month before it, not with the month before the last', async () => {
    const on = (shipDate: string, cost: string) => aShipment({ shipDate, cost });
    const result = await askReport(
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

  test('takes the periods it is given, and says that a new start cannot be compared', async () => {
    const result = await askReport('bridge', [anInvoice(many(2, { ...february, cost: '10.3333' }))], {
      parameters: {
        first_from: '2025-01-01',
        first_to: '2025-01-31',
        second_from: '2026-02-01',
        second_to: '2026-02-28',
      },
    });
    expect(cells(result, 'amount').flat()).toEqual(['0.0000', '20.6666', '20.6666']);
    expect(cells(result, 'step')[1]).toEqual(['not comparable']);
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
    const result = await askReport('bridge', [anInvoice(['2', '3', '4', '5'].flatMap(cell))]);
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

  test('are no price of a rate card, and no outlier', async () => {
    expect(cells(await askReport('rate-card', invoices), 'service_level', 'zone', 'lb', 'shipments')).toEqual(
      [['Ground', '5', 2, 8]],
    );
    const odd = [
      ...many(9, { weight: null, unit: null, cost: '10' }),
      aShipment({ weight: null, unit: null, cost: '90' }),
    ];
    expect((await askReport('outliers', [anInvoice(odd)])).rows).toEqual([]);
  });

  test('are no price change, and mix in a bridge', async () => {
    expect(cells(await askReport('price-changes', invoices), 'cells_compared')).toEqual([[1]]);
    // 160 to 320: as many shipments, so no volume. Four at 10 more are 40; the other 120 are mix.
    expect(
      cells(await askReport('bridge', invoices), 'amount')
        .flat()
        .slice(1, 4),
    ).toEqual(['0.0000', '40.0000', '120.0000']);
  });

  test('are repriced by nothing, even where two carriers have no service to name', async () => {
    const result = await askReport('what-if', [
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
    const result = await askReport('summary', [
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

describe('price-changes', () => {
  const cell = (month: string, lb: string, cost: string): FixtureShipment[] =>
    many(3, { shipDate: `2026-${month}-05`, weight: lb, cost });

  test('calls a month general when four of five prices rise', async () => {
    const result = await askReport('price-changes', [
      anInvoice([
        ...['1', '2', '3', '4', '5'].flatMap((lb) => cell('01', lb, '10')),
        ...['1', '2', '3', '4'].flatMap((lb) => cell('02', lb, '10.59')),
        ...cell('02', '5', '10'),
      ]),
    ]);
    expect(
      cells(
        result,
        'month',
        'cells_compared',
        'cells_raised',
        'cells_lowered',
        'share_raised',
        'median_change_percent',
        'verdict',
      ),
    ).toEqual([['2026-02', 5, 4, 0, '80.00', '5.90', 'general increase']]);
  });

  test('compares with the last month in which the cell was seen and is silent without change', async () => {
    const result = await askReport('price-changes', [
      anInvoice([
        ...cell('01', '1', '10'),
        ...cell('03', '1', '9'),
        ...cell('01', '2', '7'),
        ...cell('02', '2', '7'),
      ]),
    ]);
    expect(cells(result, 'month', 'cells_raised', 'cells_lowered', 'verdict')).toEqual([
      ['2026-03', 0, 1, 'some prices'],
    ]);
  });
});

describe('a filter by date', () => {
  const filters = { by: 'invoice-date', from: '2026-10-01', to: '2026-10-31' } as const;
  const on = (invoiceDate: string, cost: string, rest: Partial<FixtureShipment> = {}) =>
    aShipment({ invoiceDate, cost, weight: '2', ...rest });
  const several = (count: number, line: FixtureShipment) => Array.from({ length: count }, () => line);

  test('leaves a price the months before it to be compared with', async () => {
    const lines = [...several(3, on('2026-09-10', '10')), ...several(3, on('2026-10-10', '11'))];
    const result = await askReport('price-changes', [anInvoice(lines)], { filters });
    expect(cells(result, 'month', 'median_change_percent', 'shipments')).toEqual([['2026-10', '10.00', 3]]);
  });

  test('leaves an outlier its like, and outliers outside the filter take nothing of the limit', async () => {
    const lines = [
      ...several(16, on('2026-09-10', '10')),
      ...[on('2026-09-11', '90'), on('2026-10-11', '60'), on('2026-10-12', '10')],
    ];
    const asked = { filters, parameters: { limit: '1' } };
    const result = await askReport('outliers', [anInvoice(lines)], asked);
    expect(cells(result, 'billing_cost', 'median', 'like_shipments')).toEqual([['60.0000', '10.0000', 19]]);
  });

  test('leaves a minimum charge the one before it, and the prices of all zones', async () => {
    const zones = (day: string, cost: string) =>
      ['2', '3', '4'].flatMap((zone) => several(3, on(day, cost, { zone })));
    const lines = [...zones('2026-09-10', '9'), ...zones('2026-10-10', '10')];
    const result = await askReport('minimum-charges', [anInvoice(lines)], {
      filters: { ...filters, zones: ['2'] },
    });
    expect(cells(result, 'month', 'minimum_charge', 'change', 'shipments')).toEqual([
      ['2026-10', '10.0000', '1.0000', 3],
    ]);
  });

  test('leaves a heavy parcel the usual weights to be compared with', async () => {
    const lines = [...several(20, on('2026-09-10', '10')), on('2026-10-10', '40', { weight: '24' })];
    const result = await askReport('dimensional-weight', [anInvoice(lines)], { filters });
    expect(cells(result, 'billed_lb', 'usual_lb', 'like_shipments')).toEqual([[24, 2, 21]]);
  });
});

describe('outliers', () => {
  test('scores a shipment by its distance from the median of its like', async () => {
    const costs = ['8', '9', '10', '10', '11', '12', '13', '40'];
    const result = await askReport('outliers', [anInvoice(costs.map((cost) => aShipment({ cost })))]);
    // Middle two 10 and 11, median 10.5; distances 2.5 1.5 0.5 0.5 0.5 1.5 2.5 29.5, the middle two 1.5.
    // 29.5 * 0.6745 / 1.5 = 13.265…
    expect(cells(result, 'billing_cost', 'median', 'difference', 'robust_z', 'like_shipments')).toEqual([
      ['40.0000', '10.5000', '29.5000', '13.27', 8],
    ]);
  });

  test('compares the score before it is rounded', async () => {
    // As above 29.5 * 0.6745 / 1.5 = 13.26516…: 13.27 rounded, and not as much as that.
    const lines = ['8', '9', '10', '10', '11', '12', '13', '40'].map((cost) => aShipment({ cost }));
    const beyond = async (threshold: string) =>
      (await askReport('outliers', [anInvoice(lines)], { parameters: { threshold } })).rows.length;
    expect([await beyond('13.2651'), await beyond('13.2652')]).toEqual([1, 0]);
  });

  test('compares within the months between two general price changes', async () => {
    // Ten parcels in each of three zones at 10 in January and at 14 from February on: a general increase of 40 %.
    const zones = ['2', '5', '8'];
    const month = (start: string, cost: string): FixtureShipment[] =>
      zones.flatMap((zone) => many(10, { zone, cost, shipDate: start }));
    const result = await askReport('outliers', [
      anInvoice([
        ...month('2026-01-10', '10'),
        ...month('2026-02-10', '14'),
        aShipment({ zone: '5', cost: '14', shipDate: '2026-01-12' }),
      ]),
    ]);
    // Only the parcel that cost 14 in January is odd.
    expect(cells(result, 'ship_date', 'billing_cost', 'median', 'period_from')).toEqual([
      ['2026-01-12', '14.0000', '10.0000', null],
    ]);
  });

  test('leaves out what is not worth a look: little money, or the size of a price change', async () => {
    // Nine at 100 and one at 107: 7 % more. Nine at 0.50 and one at 1.00: half a dollar.
    const at = (zone: string, cost: string, odd: string): FixtureShipment[] => [
      ...many(9, { zone, cost }),
      aShipment({ zone, cost: odd }),
    ];
    const invoices = [anInvoice([...at('5', '100', '107'), ...at('2', '0.5', '1'), ...at('8', '10', '30')])];
    expect(cells(await askReport('outliers', invoices), 'difference')).toEqual([['20.0000']]);
    const all = await askReport('outliers', invoices, { parameters: { min_amount: '0', min_percent: '0' } });
    expect(cells(all, 'difference')).toEqual([['20.0000'], ['7.0000'], ['0.5000']]);
  });

  test('falls back to the mean distance when most cost exactly the same', async () => {
    const result = await askReport('outliers', [
      anInvoice([...many(9, { cost: '10' }), aShipment({ cost: '30' })]),
    ]);
    // Mean distance 2; 20 / (1.253314 * 2) = 7.9788...
    expect(cells(result, 'billing_cost', 'robust_z')).toEqual([['30.0000', '7.98']]);
  });

  test('lists the most money first, and says how many rows its limit leaves out', async () => {
    const lines = ['2', '8'].flatMap((zone) => [
      ...many(9, { zone, cost: '10' }),
      aShipment({ zone, cost: `${zone}0` }),
    ]);
    const asked = (parameters: Record<string, string>) =>
      askReport('outliers', [anInvoice(lines)], { parameters });
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
    const { sql, ...report } = await findReport('late-billed');
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

  test('does not rate a cell that is too small', async () => {
    const result = await askReport('outliers', [
      anInvoice([...many(6, { cost: '10' }), aShipment({ cost: '90' })]),
    ]);
    expect(result.rows).toEqual([]);
  });
});

describe('duplicates', () => {
  test('finds one number charged on two invoices and says what is at risk', async () => {
    const result = await askReport('duplicates', [
      anInvoice([aShipment({ tracking: 'A', cost: '12.5' }), aShipment({ tracking: 'B', cost: '3' })], {
        number: 'I-1',
      }),
      anInvoice([aShipment({ tracking: 'A', cost: '12.5' }), aShipment({ tracking: 'C', cost: '3' })], {
        number: 'I-2',
      }),
    ]);
    expect(
      cells(result, 'tracking_number', 'scope', 'same_amount', 'lines', 'money_at_risk', 'invoice_numbers'),
    ).toEqual([['A', 'across invoices', true, 2, '12.5000', 'I-1, I-2']]);
  });

  test('pairs a credit off with one charge of its amount', async () => {
    const lines = (...costs: string[]): FixtureShipment[] =>
      costs.map((cost) => aShipment({ tracking: 'A', cost }));
    const paired = await askReport('duplicates', [anInvoice(lines('10', '10', '-10'))]);
    expect(cells(paired, 'kind', 'money_at_risk')).toEqual([['credit', '0.0000']]);
    const twice = await askReport('duplicates', [anInvoice(lines('10', '10', '10', '-10', '-1'))]);
    expect(cells(twice, 'same_amount', 'credited', 'money_at_risk')).toEqual([[true, '-11.0000', '9.0000']]);
  });

  test('examines the lines that pass the filter, with their other lines of all months', async () => {
    const line = (tracking: string, invoiceDate: string, cost: string, weight: string): FixtureShipment =>
      aShipment({ tracking, invoiceDate, cost, weight, unit: 'LB' });
    const invoices = [
      anInvoice([line('TWICE', '2026-09-28', '10', '2.5'), line('HEAVIER', '2026-09-28', '10', '2.5')]),
      anInvoice([line('TWICE', '2026-10-05', '10', '2.5'), line('HEAVIER', '2026-10-05', '0.8', '3')]),
      anInvoice([line('LATER', '2026-11-05', '10', '2.5'), line('LATER', '2026-11-05', '10', '2.5')]),
    ];
    const filters = { by: 'invoice-date', from: '2026-10-01', to: '2026-10-31' };
    const result = await askReport('duplicates', invoices, { filters });
    expect(cells(result, 'tracking_number', 'kind', 'lines', 'money_at_risk')).toEqual([
      ['TWICE', 'same charge again', 2, '10.0000'],
      ['HEAVIER', 'adjustment', 2, '0.0000'],
    ]);
  });

  test('tells tenants, carriers and currencies apart', async () => {
    const result = await askReport('duplicates', [
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
