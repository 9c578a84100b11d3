/** Small cases worked out by hand for the reports that do more than group and sum. */

import { describe, expect, test } from 'vitest';
import { askReport, cells } from '../support/reports/ask-report.js';
import { anInvoice, aShipment, type FixtureShipment } from '../support/reports/reports-fixture.js';

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

  test('takes the periods it is given, and says that a new start cannot be compared', async () => {
    const result = await askReport('bridge', [anInvoice(many(2, { ...february, cost: '10.3333' }))], {
      parameters: {
        first_from: '2025-01-01',
        first_to: '2025-02-01',
        second_from: '2026-02-01',
        second_to: '2026-03-01',
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

  test('judges by the score before it is rounded', async () => {
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

  test('does not judge a cell that is too small', async () => {
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
    expect(paired.rows).toEqual([]);
    const twice = await askReport('duplicates', [anInvoice(lines('10', '10', '10', '-10', '-1'))]);
    expect(cells(twice, 'same_amount', 'credited', 'money_at_risk')).toEqual([[true, '-11.0000', '9.0000']]);
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
      await askReport('accrual', [anInvoice(lines)], { publishedAt, parameters }),
      'ship_month',
      'basis',
      'estimated_total',
      'estimated_unbilled',
    );

  test('estimates nothing from one monthly invoice, however large', async () => {
    // One invoice of 340.00, dated in the month after: no earlier month shows how a month grows.
    expect(await estimate([billed(2, 1, '340')], '2026-03-20T00:00:00Z')).toEqual([
      ['2026-02', 'not enough history', null, null],
    ]);
  });

  test('learns nothing from a month that had nothing before and something after', async () => {
    // January to April had nothing by their own end and 40 a month later: growth over nothing is no number.
    const lines = [1, 2, 3, 4].map((month) => billed(month, 1, '40'));
    const may = await estimate([...lines, billed(5, 0, '1')], '2026-06-05T00:00:00Z', {
      complete_after: '1',
    });
    expect(may.at(-1)).toEqual(['2026-05', 'not enough history', null, null]);
  });

  test('asks for as many earlier months as it was told', async () => {
    // Two months doubled from 10 to 20; with two of them enough, March's 30 becomes 60.
    const lines = [1, 2].flatMap((month) => [billed(month, 0, '10'), billed(month, 1, '10')]);
    const asked = (months: string) =>
      estimate([...lines, billed(3, 0, '30')], '2026-04-02T00:00:00Z', {
        complete_after: '1',
        min_months: months,
      });
    expect((await asked('3')).at(-1)).toEqual(['2026-03', 'not enough history', null, null]);
    expect((await asked('2')).at(-1)).toEqual(['2026-03', 'chain ladder', '60.0000', '30.0000']);
  });

  test('judges age by the calendar of the publication, not by the newest line', async () => {
    // Nothing was invoiced since April; in September every month is older than three months all the same.
    const lines = [billed(3, 0, '30'), billed(3, 1, '5')];
    expect(await estimate(lines, '2026-09-01T00:00:00Z')).toEqual([
      ['2026-03', 'complete', '35.0000', '0.0000'],
    ]);
    // In the middle of March that month has not ended, and a month counts as ended on its last day.
    expect(await estimate([billed(3, 0, '30')], '2026-03-30T23:00:00Z')).toEqual([
      ['2026-03', 'month has not ended', null, null],
    ]);
    expect(await estimate([billed(3, 0, '30')], '2026-03-31T01:00:00Z')).toEqual([
      ['2026-03', 'not enough history', null, null],
    ]);
  });

  test('judges age as of the instant that is asked about', async () => {
    const invoice = anInvoice([billed(1, 0, '30')], { loadedAt: '2026-01-16T00:00:00Z' });
    const basis = async (asKnownOn: string) =>
      cells(await askReport('accrual', [invoice], { filters: { asKnownOn } }), 'age', 'basis');
    expect(await basis('2026-01-20')).toEqual([[null, 'month has not ended']]);
    expect(await basis('2026-03-15')).toEqual([[1, 'not enough history']]);
  });

  test('keeps tenants and carriers apart, and takes what is billed since the last ended month off', async () => {
    // Ups doubles, dhl does not grow. April has ended, on 10 May; of its 50 for ups 30 came in May already:
    // 20 at age 0 become 40, less 50 billed, is 10 too much.
    const lines = [1, 2, 3].flatMap((month) => [
      billed(month, 0, '10'),
      billed(month, 1, '10'),
      billed(month, 0, '7', { carrier: 'dhl' }),
    ]);
    const result = await askReport(
      'accrual',
      [anInvoice([...lines, billed(4, 0, '20'), billed(4, 1, '30'), billed(4, 0, '9', { carrier: 'dhl' })])],
      { publishedAt: '2026-05-10T00:00:00Z', parameters: { complete_after: '1' } },
    );
    expect(
      cells(result, 'ship_month', 'carrier', 'billing_cost', 'estimated_total', 'estimated_unbilled').slice(
        -2,
      ),
    ).toEqual([
      ['2026-04', 'dhl', '9.0000', '9.0000', '0.0000'],
      ['2026-04', 'ups', '50.0000', '40.0000', '-10.0000'],
    ]);
  });

  test('is booked as a journal whose debits equal its credits, reversed on the day after', async () => {
    // Each month grows by a half from 10: 15. March's 33.3333 lack 16.66665, in cents 16.67.
    const lines = [10, 11, 12].flatMap((month) => [
      aShipment({ shipDate: `2025-${month}-10`, invoiceDate: `2025-${month}-20`, cost: '10' }),
      aShipment({
        shipDate: `2025-${month}-10`,
        invoiceDate: month === 12 ? '2026-01-20' : `2025-${month + 1}-20`,
        cost: '5',
      }),
    ]);
    const result = await askReport('accrual-journal', [anInvoice([...lines, billed(3, 0, '33.3333')])], {
      publishedAt: '2026-04-03T00:00:00Z',
      parameters: { complete_after: '1', expense_account: '6100' },
    });
    expect(cells(result, 'journal_date', 'entry', 'account', 'debit', 'credit')).toEqual([
      ['2026-03-31', 'accrual', '6100', '16.67', null],
      ['2026-03-31', 'accrual', 'Accrued freight', null, '16.67'],
      ['2026-04-01', 'reversal', 'Accrued freight', '16.67', null],
      ['2026-04-01', 'reversal', '6100', null, '16.67'],
    ]);
  });
});

describe('proof', () => {
  test('sets each invoice against its header', async () => {
    const result = await askReport('proof', [
      anInvoice([aShipment({ cost: '5' })], { number: 'A' }),
      anInvoice([aShipment({ cost: '5' })], { number: 'B', statedTotal: '6.5', statedShipments: 2 }),
      anInvoice([aShipment({ cost: '5' })], { number: 'C', proof: 'unproved' }),
      anInvoice([], { number: 'D', state: 'finalized', statedTotal: '9', statedShipments: 3 }),
      anInvoice([aShipment({ cost: '5' })], {
        number: 'E',
        state: 'voided',
        voidedAt: '2026-03-20T00:00:00Z',
      }),
    ]);
    expect(
      cells(result, 'invoice_number', 'shipments_difference', 'difference', 'differences', 'verdict'),
    ).toEqual([
      ['B', -1, '-1.5000', 'shipment-count, total-amount', 'contradicted'],
      ['A', 0, '0.0000', null, 'proved'],
      ['C', 0, '0.0000', null, 'unproved'],
      ['D', null, null, null, 'not loaded'],
      ['E', 0, '0.0000', null, 'voided, not counted'],
    ]);
  });
});

describe('proof, by gravity', () => {
  test('puts the wrong total first, and calls nothing contradicted for the dates of late charges', async () => {
    const result = await askReport('proof', [
      anInvoice([aShipment({ cost: '5' })], {
        number: 'late',
        differences: [['period', '2026-03', '2026-02-20']],
      }),
      anInvoice([aShipment({ cost: '5' })], { number: 'small', statedTotal: '5.01' }),
      anInvoice([aShipment({ cost: '5' })], { number: 'large', statedTotal: '905' }),
      anInvoice([aShipment({ cost: '5' })], { number: 'count', statedShipments: 3 }),
    ]);
    expect(cells(result, 'invoice_number', 'grade', 'verdict')).toEqual([
      ['large', 'money', 'contradicted'],
      ['small', 'money', 'contradicted'],
      ['count', 'count', 'contradicted'],
      ['late', 'dates', 'proved'],
    ]);
    // The head of every report counts the same three.
    expect(result.head.notes).toContain(
      'Contradicted by their own header or event: 3 invoices; the report proof says how.',
    );
  });
});

describe('proof of an invoice in another currency than its header says', () => {
  test('names each amount by its own currency and takes neither from the other', async () => {
    const result = await askReport('proof', [
      anInvoice([aShipment({ cost: '5', currency: 'USD' })], { currency: 'GBP', statedTotal: '4' }),
    ]);
    expect(
      cells(result, 'currency_code', 'billing_cost', 'stated_currency', 'stated_total', 'difference'),
    ).toEqual([['USD', '5.0000', 'GBP', '4.0000', null]]);
  });
});

describe('levels', () => {
  test('matches both levels by tracking number', async () => {
    const tenant = [
      aShipment({ tracking: 'A', cost: '5' }),
      aShipment({ tracking: 'B', cost: '6' }),
      aShipment({ tracking: 'C', cost: '7' }),
    ];
    const partner = [
      aShipment({ tracking: 'A', cost: '5' }),
      aShipment({ tracking: 'B', cost: '6.5' }),
      aShipment({ tracking: 'D', cost: '1' }),
    ];
    const result = await askReport('levels', [anInvoice(tenant), anInvoice(partner, { level: 'partner' })]);
    expect(
      cells(
        result,
        'tenant_level_cost',
        'partner_level_cost',
        'difference',
        'only_at_tenant_level',
        'only_at_partner_level',
        'cost_differs',
      ),
    ).toEqual([['18.0000', '12.5000', '-5.5000', 1, 1, 1]]);
    // Nothing is left out, and the head does not say so.
    expect(result.head).toMatchObject({ level: 'all', shipments: 6 });
    expect(result.head.notes).toEqual([
      'Both levels are read and set side by side; a shipment billed at both counts once at each.',
    ]);
  });

  test('adds the lines of a number on each side, and counts it once, in its first month', async () => {
    const tenant = [
      aShipment({ tracking: 'A', cost: '5', shipDate: '2026-02-27' }),
      aShipment({ tracking: 'A', cost: '-1', shipDate: '2026-03-02' }),
      aShipment({ tracking: 'A', cost: '2', carrier: 'another', shipDate: '2026-02-27' }),
      aShipment({ tracking: 'B', cost: '3', shipDate: '2026-03-05' }),
      aShipment({ tracking: 'C', cost: '3', shipDate: '2026-03-05' }),
    ];
    const partner = [
      aShipment({ tracking: 'A', cost: '4', shipDate: '2026-03-02' }),
      aShipment({ tracking: 'D', cost: '7', shipDate: '2026-03-05' }),
      aShipment({ tracking: 'D', cost: '8', shipDate: '2026-03-06' }),
    ];
    const result = await askReport('levels', [anInvoice(tenant), anInvoice(partner, { level: 'partner' })]);
    const [carrier] = tenant.map((line) => line.carrier);
    expect(
      cells(
        result,
        'month',
        'carrier',
        'tenant_level_numbers',
        'partner_level_numbers',
        'tenant_level_cost',
        'partner_level_cost',
        'only_at_tenant_level',
        'only_at_partner_level',
        'cost_differs',
      ).toSorted(),
    ).toEqual(
      [
        ['2026-02', 'another', 1, 0, '2.0000', '0.0000', 1, 0, 0],
        ['2026-02', carrier, 1, 1, '4.0000', '4.0000', 0, 0, 0],
        ['2026-03', carrier, 2, 1, '6.0000', '15.0000', 2, 1, 0],
      ].toSorted(),
    );
  });
});

describe('rebills', () => {
  const voided = { state: 'voided', voidedAt: '2026-03-20T00:00:00Z' } as const;

  test('finds the replacement by shared tracking numbers, and says what nobody billed again', async () => {
    const result = await askReport('rebills', [
      anInvoice([aShipment({ tracking: 'A', cost: '5' }), aShipment({ tracking: 'B', cost: '6' })], {
        number: 'V1',
        ...voided,
      }),
      anInvoice([aShipment({ tracking: 'Z', cost: '9' })], { number: 'V2', ...voided }),
      anInvoice([aShipment({ tracking: 'A', cost: '4' }), aShipment({ tracking: 'B', cost: '6' })], {
        number: 'R1',
      }),
    ]);
    expect(
      cells(
        result,
        'invoice_number',
        'outcome',
        'replacement_number',
        'shared_percent',
        'difference',
        'missing_cost',
      ),
    ).toEqual([
      ['V1', 'billed again', 'R1', '100.00', '-1.0000', null],
      ['V2', 'not billed again', null, null, null, '9.0000'],
    ]);
  });

  test('takes one shared number of many for no replacement', async () => {
    // 20 numbers at 2 each; the other invoice has one of them, 5 % of the numbers.
    const lines = Array.from({ length: 20 }, (_, index) => aShipment({ tracking: `N${index}`, cost: '2' }));
    const result = await askReport('rebills', [
      anInvoice(lines, { number: 'V', ...voided }),
      anInvoice([aShipment({ tracking: 'N7', cost: '3' })], { number: 'adjusts' }),
    ]);
    expect(cells(result, 'outcome', 'missing_numbers', 'missing_cost')).toEqual([
      ['not billed again', 20, '40.0000'],
    ]);
  });

  test('takes no invoice that was there before for a replacement', async () => {
    const result = await askReport('rebills', [
      anInvoice([aShipment({ tracking: 'A', invoiceDate: '2026-03-10' })], { ...voided }),
      anInvoice([aShipment({ tracking: 'A', invoiceDate: '2026-02-10' })]),
    ]);
    expect(cells(result, 'outcome')).toEqual([['not billed again']]);
  });
});

describe('restatement', () => {
  const invoices = [
    anInvoice([aShipment({ cost: '5' })], { number: 'same', loadedAt: '2026-01-05T00:00:00Z' }),
    anInvoice([aShipment({ cost: '7' })], { number: 'late', loadedAt: '2026-02-05T00:00:00Z' }),
    anInvoice([aShipment({ cost: '9' })], {
      number: 'gone',
      loadedAt: '2026-01-05T00:00:00Z',
      state: 'voided',
      voidedAt: '2026-02-10T00:00:00Z',
    }),
    anInvoice([aShipment({ cost: '12' })], {
      number: 'again',
      loadedAt: '2026-02-15T00:00:00Z',
      earlier: [
        {
          loadedAt: '2026-01-05T00:00:00Z',
          shipments: [aShipment({ cost: '10' }), aShipment({ cost: '1' })],
        },
      ],
    }),
  ];

  test('names the cause of every difference between two instants', async () => {
    const result = await askReport('restatement', invoices, {
      parameters: { first: '2026-02-01', second: '2026-03-01' },
    });
    expect(cells(result, 'invoice_number', 'cause', 'cost_first', 'cost_second', 'difference')).toEqual([
      ['gone', 'voided', '9.0000', '0.0000', '-9.0000'],
      ['late', 'loaded', '0.0000', '7.0000', '7.0000'],
      ['again', 'new file', '11.0000', '12.0000', '1.0000'],
    ]);
  });

  test('lists nothing where a new file differs outside the filters only', async () => {
    const before = [
      aShipment({ tracking: 'A', cost: '10' }),
      aShipment({ tracking: 'B', carrier: 'dhl', cost: '1' }),
    ];
    const after = [
      aShipment({ tracking: 'A', cost: '10' }),
      aShipment({ tracking: 'B', carrier: 'dhl', cost: '2' }),
    ];
    const renewed = [
      anInvoice(after, {
        loadedAt: '2026-02-15T00:00:00Z',
        earlier: [{ loadedAt: '2026-01-05T00:00:00Z', shipments: before }],
      }),
    ];
    const asked = async (carriers: string[]) =>
      cells(
        await askReport('restatement', renewed, {
          filters: { carriers },
          parameters: { first: '2026-02-01', second: '2026-03-01' },
        }),
        'cause',
        'difference',
      );
    expect(await asked(['ups'])).toEqual([]);
    expect(await asked(['dhl'])).toEqual([['new file', '1.0000']]);
  });

  test('agrees with what each report says as known on those instants', async () => {
    const total = async (asKnownOn: string): Promise<unknown> =>
      (await askReport('carriers', invoices, { filters: { asKnownOn } })).rows[0]?.billing_cost;
    expect(await total('2026-02-01')).toBe('25.0000');
    expect(await total('2026-03-01T00:00:00+00:00')).toBe('24.0000');
    expect((await askReport('carriers', invoices, { filters: { asKnownOn: '2025-01-01' } })).rows).toEqual(
      [],
    );
  });
});

describe('packages', () => {
  const line = (tracking: string, cost: string, more: Partial<FixtureShipment> = {}): FixtureShipment =>
    aShipment({ tracking, cost, weight: '2', zone: '5', service: 'Ground', origin: '02139', ...more });
  // A cost 10, was credited 4 and charged 3 more, B cost 11: 20 for four lines and two packages, 10 each.
  const fourLines = [line('A', '10'), line('A', '-4'), line('A', '3'), line('B', '11')];

  test.each([
    ['tenants', {}],
    ['carriers', {}],
    ['zones', {}],
    ['carrier-zones', {}],
    ['summary', {}],
    ['summary', { grain: 'week' }],
    ['matrix', {}],
    ['origins', {}],
    ['weight-breaks', {}],
    ['services', {}],
    ['mix', { by: 'zone' }],
    ['mix', { by: 'service', grain: 'week' }],
    ['mix', { by: 'weight' }],
  ] as const)('of four lines %s %j counts two and divides by them', async (name, parameters) => {
    const invoices = [anInvoice(fourLines.slice(0, 2)), anInvoice(fourLines.slice(2))];
    const result = await askReport(name, invoices, { parameters });
    expect(cells(result, 'shipments', 'packages', 'billing_cost', 'cost_per_shipment')).toEqual([
      [4, 2, '20.0000', '10.0000'],
    ]);
  });

  test('are per carrier and per row, and what has no zone, origin, weight or service is a row as well', async () => {
    const nothing = { weight: null, unit: null, zone: null, service: null, origin: null };
    const invoices = [
      anInvoice([
        ...fourLines,
        line('A', '6', { carrier: 'fedex' }),
        line('B', '8', nothing),
        line('B', '4', nothing),
      ]),
    ];
    for (const name of ['zones', 'origins', 'weight-breaks'] as const) {
      expect(cells(await askReport(name, invoices), 'shipments', 'packages', 'cost_per_shipment')).toEqual(
        expect.arrayContaining([
          // Two of the usual carrier and one of FedEx, 26 by 3; and B once more where it has no cells.
          [5, 3, '8.6667'],
          [2, 1, '12.0000'],
        ]),
      );
    }
    expect(cells(await askReport('services', invoices), 'shipments', 'packages')).toEqual(
      expect.arrayContaining([
        [4, 2],
        [2, 1],
        [1, 1],
      ]),
    );
  });

  test('a premium over ground is of packages: two services of ground that bill one number are one', async () => {
    const invoices = [
      anInvoice([
        line('A', '8', { service: 'Ground' }),
        line('A', '2', { service: 'Home Ground' }),
        line('B', '6', { service: '2Day' }),
        line('B', '9', { service: '2Day' }),
      ]),
    ];
    const columns = [
      'service_level',
      'packages',
      'ground_cost_per_shipment',
      'premium_per_shipment',
      'premium_percent',
    ];
    // Ground is 10 for one package, 2Day 15 for one: 5, or half, more.
    expect(cells(await askReport('services', invoices), ...columns)).toEqual([
      ['2Day', 1, '10.0000', '5.0000', '50.00'],
      ['Ground', 1, '10.0000', null, null],
      ['Home Ground', 1, '10.0000', null, null],
    ]);
  });
});

describe('an invoice in several currencies', () => {
  // Header: 30 USD. Its file has 10 and 20 in USD and 7 in EUR.
  const invoices = [
    anInvoice(
      [aShipment({ cost: '10' }), aShipment({ cost: '20' }), aShipment({ cost: '7', currency: 'EUR' })],
      { currency: 'USD', statedTotal: '30', statedShipments: 3 },
    ),
  ];

  test.each([
    ['proof', 'billing_cost'],
    ['register', 'open_amount'],
    ['payables', 'open_amount'],
  ] as const)('has a row for each in %s, which add up to the shipments', async (name, amount) => {
    expect(cells(await askReport(name, invoices), 'currency_code', amount)).toEqual([
      ['EUR', '7.0000'],
      ['USD', '30.0000'],
    ]);
    const inEuros = await askReport(name, invoices, { filters: { currencies: ['EUR'] } });
    expect(cells(inEuros, 'currency_code', amount)).toEqual([['EUR', '7.0000']]);
  });

  test('is proved with the lines of each currency, and what was stated in its own', async () => {
    const columns = [
      'currency_code',
      'shipments',
      'stated_shipments',
      'shipments_difference',
      'stated_total',
      'difference',
    ];
    expect(cells(await askReport('proof', invoices), ...columns)).toEqual([
      ['EUR', 1, null, null, null, null],
      ['USD', 2, 3, 0, '30.0000', '0.0000'],
    ]);
  });
});

describe('services', () => {
  test('compares a service with ground, overall and like for like', async () => {
    const result = await askReport('services', [
      anInvoice([
        ...many(2, { service: 'UPS Ground', zone: '5', weight: '2', cost: '8' }),
        ...many(2, { service: 'UPS Ground', zone: '8', weight: '2', cost: '12' }),
        aShipment({ service: '2Day', zone: 'Zone 5', weight: '1.5', cost: '20' }),
        aShipment({ service: '2Day', zone: '2', weight: '2', cost: '16' }),
      ]),
    ]);
    expect(
      cells(
        result,
        'service_level',
        'cost_per_shipment',
        'premium_per_shipment',
        'premium_percent',
        'like_for_like_shipments',
        'premium_like_for_like',
      ),
    ).toEqual([
      ['UPS Ground', '10.0000', null, null, null, null],
      ['2Day', '18.0000', '8.0000', '80.00', 1, '12.0000'],
    ]);
  });
});

describe('a mean zone', () => {
  test('is told by service, and only where its zones are a scale', async () => {
    const zones = (service: string, ...list: string[]): FixtureShipment[] =>
      list.map((zone) => aShipment({ service, zone }));
    const invoices = [
      anInvoice([
        // 2 and 8 have the mean 5; 17 and 17.5 have 17.25; 102 and 308 are two services' zones, 44 is a place.
        ...zones('Ground', '2', 'Zone 8'),
        ...zones('Freight', '17', '17.5'),
        ...zones('Air', '102', '308'),
        ...zones('Home', '2', '8', '44'),
      ]),
    ];
    const result = await askReport('mix', invoices, { parameters: { by: 'service' } });
    expect(cells(result, 'part', 'average_zone')).toEqual([
      ['Air', null],
      ['Freight', '17.25'],
      ['Ground', '5.00'],
      ['Home', null],
    ]);
  });
});

describe('services, by a word', () => {
  test('finds ground as a word and not within another', async () => {
    const named = async (service: string) =>
      cells(await askReport('services', [anInvoice([aShipment({ service })])]), 'is_ground').flat();
    expect(await named('Playground Express')).toEqual([false]);
    expect(await named('UPS® GROUND')).toEqual([true]);
    expect(await named('Ground-Residential')).toEqual([true]);
  });
});

describe('services, rounding', () => {
  test('divides exact sums and rounds once', async () => {
    const result = await askReport('services', [
      anInvoice([
        ...['1', '1', '1.0001'].map((cost) => aShipment({ service: 'Ground', zone: '5', weight: '2', cost })),
        ...['2', '2', '2.0001', '2', '2', '2'].map((cost) =>
          aShipment({ service: 'Air', zone: '5', weight: '2', cost }),
        ),
      ]),
    ]);
    // Means 3.0001 / 3 = 1.00003… and 12.0001 / 6 = 2.000016…; rounded first they would differ by 1.0000 as well, but
    // six at the ground mean cost 6.0002 and not 6 times 1.0000.
    expect(
      cells(result, 'service_level', 'premium_per_shipment', 'premium_percent', 'premium_like_for_like'),
    ).toEqual([
      ['Air', '1.0000', '100.00', '5.9999'],
      ['Ground', null, null, null],
    ]);
  });
});

describe('a weight beyond all carriers', () => {
  test('breaks no report', async () => {
    const invoices = [
      anInvoice([
        aShipment({ weight: '99999999999999.9999' }),
        aShipment({ weight: '9999999999999', unit: 'KG' }),
      ]),
    ];
    for (const name of [
      'rate-card',
      'weight-breaks',
      'outliers',
      'what-if',
      'bridge',
      'services',
      'price-changes',
    ]) {
      await askReport(name, invoices);
    }
    expect(cells(await askReport('rate-card', invoices), 'lb')).toEqual([
      [22_046_226_217_998],
      [100_000_000_000_000],
    ]);
  });
});

describe('what-if', () => {
  test('reprices what the other carrier has a price for and says how much that is', async () => {
    const result = await askReport('what-if', [
      anInvoice([
        ...many(3, { carrier: 'ups', zone: '5', weight: '2', cost: '10' }),
        aShipment({ carrier: 'ups', zone: '8', weight: '2', cost: '30' }),
        ...many(3, { carrier: 'fedex', zone: '5', weight: '1.1', cost: '9' }),
      ]),
    ]);
    expect(
      cells(
        result,
        'carrier',
        'other_carrier',
        'shipments',
        'covered_shipments',
        'coverage_percent',
        'covered_cost',
        'repriced_cost',
        'saving',
        'saving_percent',
      ),
    ).toEqual([
      ['fedex', 'ups', 3, 3, '100.00', '27.0000', '30.0000', '-3.0000', '-11.11'],
      ['ups', 'fedex', 4, 3, '75.00', '30.0000', '27.0000', '3.0000', '10.00'],
    ]);
  });
});

describe('waiting', () => {
  test('lists what waits, longest first, with why', async () => {
    const result = await askReport(
      'waiting',
      [
        anInvoice([aShipment()], { number: 'done' }),
        anInvoice([], {
          number: 'draft',
          state: 'draft',
          createdAt: '2026-03-30T01:00:00Z',
          due: '2026-04-20',
        }),
        anInvoice([], {
          number: 'stuck',
          state: 'needs_attention',
          createdAt: '2026-03-01T00:00:00Z',
          due: '2026-03-25',
          reason: 'The file is rejected.',
        }),
      ],
      { publishedAt: '2026-04-01T00:00:00Z' },
    );
    expect(
      cells(result, 'invoice_number', 'state', 'days_in_state', 'days_past_due', 'age', 'is_stuck', 'reason'),
    ).toEqual([
      ['stuck', 'needs_attention', 31, 7, '30 days and more', true, 'The file is rejected.'],
      ['draft', 'draft', 1, 0, '1 to 6 days', false, null],
    ]);
  });
});

describe('data-quality, currency', () => {
  test('means the currency that the header states', async () => {
    // Stated in USD; one line in AED, which comes first by the alphabet, and nothing in USD.
    const result = await askReport('data-quality', [
      anInvoice([aShipment({ currency: 'AED' }), aShipment({ currency: 'EUR' })], { currency: 'USD' }),
    ]);
    const found = result.rows.filter((row) => String(row.problem).startsWith('currency'));
    expect(found.map((row) => [row.currency_code, row.shipments])).toEqual([
      ['AED', 1],
      ['EUR', 1],
    ]);
  });
});

describe('data-quality', () => {
  test('counts what is missing or odd and shows where', async () => {
    const result = await askReport('data-quality', [
      anInvoice(
        [
          aShipment({ tracking: 'ok', shipDate: '2026-03-02' }),
          aShipment({ tracking: '7.2E+11', origin: null, zone: 'Zone 5', cost: '-1' }),
          aShipment({ tracking: 'w', weight: null, unit: null, shipDate: '2026-03-12' }),
        ],
        { number: 'Q', start: '2026-03-01', end: '2026-03-08' },
      ),
    ]);
    expect(
      Object.fromEntries(cells(result, 'problem', 'example').map(([problem, example]) => [problem, example])),
    ).toEqual({
      'origin is missing': '7.2E+11',
      'carrier zone has an unusual spelling': '7.2E+11',
      'cost is a credit': '7.2E+11',
      'tracking number went through a spreadsheet': '7.2E+11',
      'billable weight is missing': 'w',
      'shipped after it was invoiced': 'w',
      'carrier billed before it was shipped': 'w',
      'ship date is outside the billing period': 'w',
    });
    expect(cells(result, 'shipments', 'share_of_shipments')[0]).toEqual([1, '33.33']);
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

  test('finds the weeks that a weekly tenant was not invoiced for', async () => {
    const result = await askReport('gaps', invoices, { publishedAt: '2026-02-25T00:00:00Z' });
    expect(cells(result, 'kind', 'tenant', 'expected_from', 'expected_to', 'missing', 'usual_step')).toEqual([
      ['period', 'Acme', '2026-01-26', '2026-02-09', 2, 7],
    ]);
  });

  test('says when the next invoice is overdue', async () => {
    const on = async (publishedAt: string): Promise<unknown[][]> =>
      cells(
        await askReport('gaps', invoices.slice(0, 3), { publishedAt }),
        'kind',
        'missing',
        'after_invoice',
      );
    // The next period, 26 January to 1 February, ends when the step after it begins: 2 February, and 2 + 2 days of grace.
    expect(await on('2026-02-05T23:00:00Z')).toEqual([]);
    expect(await on('2026-02-06T00:00:00Z')).toEqual([['overdue', 1, 'INV-3']]);
    expect(await on('2026-02-13T00:00:00Z')).toEqual([['overdue', 2, 'INV-3']]);
  });

  test('finds numbers that were skipped in a tenant’s own series', async () => {
    const numbered = [1, 2, 3, 4, 5, 8].map((number, index) =>
      weekly(`2026-01-0${index + 1}`, `A-00${number}`),
    );
    const result = await askReport('gaps', numbered, { publishedAt: '2026-01-07T00:00:00Z' });
    expect(cells(result, 'kind', 'tenant', 'missing', 'after_invoice', 'before_invoice')).toEqual([
      ['number', 'Acme', 2, 'A-005', 'A-008'],
    ]);
  });

  test('finds numbers that were skipped in a series that tenants share', async () => {
    const numbered = [1, 2, 3, 4, 5, 7].map((number, index) =>
      weekly(`2026-01-0${index + 1}`, `B-${number}`, ['Acme', 'Beta', 'Gamma'][index % 3]),
    );
    const result = await askReport('gaps', numbered, { publishedAt: '2026-01-07T00:00:00Z' });
    expect(cells(result, 'kind', 'tenant', 'missing', 'finding')).toEqual([
      ['number', null, 1, '1 number is missing between B-5 and B-7'],
    ]);
  });

  test('keeps a voided period open until it is billed again', async () => {
    const voided = anInvoice([aShipment()], {
      number: 'V-1',
      start: '2026-01-12',
      end: '2026-01-18',
      state: 'voided',
      voidedAt: '2026-02-01T00:00:00Z',
    });
    const open = await askReport('gaps', [voided], { publishedAt: '2026-02-25T00:00:00Z' });
    expect(cells(open, 'kind', 'expected_from', 'expected_to', 'finding')).toEqual([
      [
        'voided',
        '2026-01-12',
        '2026-01-19',
        'V-1 was voided, and nothing else covers 2026-01-12 to 2026-01-19',
      ],
    ]);
    const again = weekly('2026-01-12', 'V-2');
    expect((await askReport('gaps', [voided, again], { publishedAt: '2026-01-25T00:00:00Z' })).rows).toEqual(
      [],
    );
  });

  test('begins on a day that nothing covers, whether periods end on their last day or on the next one’s first', async () => {
    // Periods that end where the next begins: after 5 to 12 and 12 to 19 January, 19 January is open.
    const touching = ['2026-01-05', '2026-01-12', '2026-02-02', '2026-02-09'].map((start, index) => {
      const end = new Date(Date.parse(start) + 7 * 86_400_000).toISOString().slice(0, 10);
      return anInvoice([aShipment()], { number: `T${index}x`, start, end, date: end });
    });
    const result = await askReport('gaps', touching, { publishedAt: '2026-02-17T00:00:00Z' });
    expect(cells(result, 'expected_from', 'expected_to')).toEqual([['2026-01-19', '2026-02-02']]);
    // A longer invoice covers the days between two others.
    const covered = [
      ...['2026-01-05', '2026-01-12', '2026-01-19'].map((start, index) => weekly(start, `C${index}x`)),
      anInvoice([aShipment()], { number: 'C3x', start: '2026-01-19', end: '2026-02-15', date: '2026-02-17' }),
      ...['2026-02-16', '2026-02-23'].map((start, index) => weekly(start, `C${index}y`)),
    ];
    expect(cells(await askReport('gaps', covered, { publishedAt: '2026-03-04T00:00:00Z' }), 'kind')).toEqual(
      [],
    );
  });

  test('counts no number as missing that another tenant has, and no block between two tenants', async () => {
    // Three tenants take turns in one sequence, 1 to 12; each alone would miss two of three.
    const turns = Array.from({ length: 12 }, (_, index) =>
      weekly(
        `2026-01-${String(index + 1).padStart(2, '0')}`,
        `S-${index + 1}`,
        ['Acme', 'Beta', 'Gamma'][index % 3],
      ),
    );
    const numbers = async (list: readonly ReturnType<typeof anInvoice>[]) =>
      (await askReport('gaps', list, { publishedAt: '2026-01-13T00:00:00Z' })).rows.filter(
        (row) => row.kind === 'number',
      );
    expect(await numbers(turns)).toEqual([]);
    // Two tenants have a block each: the thousand numbers between are nobody's.
    const blocks = [1, 2, 3, 4, 1001, 1002, 1003, 1004].map((number, index) =>
      weekly(`2026-01-0${index + 1}`, `K-${number}`, index < 4 ? 'Acme' : 'Beta'),
    );
    expect(await numbers(blocks)).toEqual([]);
  });

  test('never expects an invoice to come before it is due to begin', async () => {
    // Number 5 was given to an earlier day than number 3.
    const days = ['10', '11', '12', '02', '03', '04', '05'];
    const list = [1, 2, 3, 5, 6, 7, 8].map((number, index) =>
      weekly(`2026-01-${days[index]}`, `R-${number}`),
    );
    const result = await askReport('gaps', list, { publishedAt: '2026-01-20T00:00:00Z' });
    const [gap] = result.rows.filter((row) => row.kind === 'number');
    expect([gap?.expected_from, gap?.expected_to, gap?.missing]).toEqual(['2026-01-10', '2026-01-20', 1]);
  });

  test('teaches itself nothing from two invoices or from random numbers', async () => {
    const result = await askReport('gaps', [weekly('2026-01-05', 'X-17'), weekly('2026-01-12', 'X-90')], {
      publishedAt: '2026-06-01T00:00:00Z',
    });
    expect(result.rows).toEqual([]);
  });
});
