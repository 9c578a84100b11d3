/** Cases that the independent computations do not cover, worked out by hand. */

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

describe('a filter by date', () => {
  const filters = { by: 'invoice-date', from: '2026-10-01', to: '2026-10-31' } as const;
  const on = (invoiceDate: string, cost: string, rest: Partial<FixtureShipment> = {}) =>
    aShipment({ invoiceDate, cost, weight: '2', ...rest });
  const several = (count: number, line: FixtureShipment) => Array.from({ length: count }, () => line);

  test('keeps the like shipments of an outlier, and outliers outside the filter do not use up the limit', async () => {
    const lines = [
      ...several(16, on('2026-09-10', '10')),
      ...[on('2026-09-11', '90'), on('2026-10-11', '60'), on('2026-10-12', '10')],
    ];
    const request = { filters, parameters: { limit: '1' } };
    const result = await runReportOn('outliers', [anInvoice(lines)], request);
    expect(cells(result, 'billing_cost', 'median', 'like_shipments')).toEqual([['60.0000', '10.0000', 19]]);
  });
});

describe('outliers', () => {
  test('lists the most money first and reports how many rows the limit leaves out', async () => {
    const lines = ['2', '8'].flatMap((zone) => [
      ...many(9, { zone, cost: '10' }),
      aShipment({ zone, cost: `${zone}0` }),
    ]);
    const outliers = (parameters: Record<string, string>) =>
      runReportOn('outliers', [anInvoice(lines)], { parameters });
    const cut = '1 of 2 rows: the limit leaves out the others.';
    const one = await outliers({ limit: '1' });
    expect([cells(one, 'billing_cost'), one.head.notes.includes(cut)]).toEqual([[['80.0000']], true]);
    const all = await outliers({});
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

describe('zones', () => {
  test.each([
    ['zones', 'zone', {}],
    ['cost', 'zone', { by: 'zone' }],
    ['mix', 'part', {}],
    ['rate-card', 'zone', {}],
  ] as const)(
    'of %s are sorted by size where they are numbers, others by name',
    async (name, column, parameters) => {
      const invoices = [
        anInvoice(
          ['EU', '10', '1e3', '9.5', '102'].map((zone) =>
            aShipment({ zone, service: 'Ground', weight: '2' }),
          ),
        ),
      ];
      const result = await runReportOn(name, invoices, { parameters });
      expect(cells(result, column).flat()).toEqual(['9.5', '10', '102', '1E3', 'EU']);
    },
  );
});

describe('packages', () => {
  const line = (tracking: string, cost: string, more: Partial<FixtureShipment> = {}): FixtureShipment =>
    aShipment({ tracking, cost, weight: '2', zone: '5', service: 'Ground', origin: '02139', ...more });
  // A cost 10, was credited 4 and charged 3 more, B cost 11: 20 for four lines and two packages, 10 each.
  const fourLines = [line('A', '10'), line('A', '-4'), line('A', '3'), line('B', '11')];

  test.each([
    ['summary', { grain: 'week' }],
    ['mix', { by: 'service', grain: 'week' }],
    ['mix', { by: 'weight' }],
  ] as const)('of four lines %s %j counts two and divides by two', async (name, parameters) => {
    const invoices = [anInvoice(fourLines.slice(0, 2)), anInvoice(fourLines.slice(2))];
    const result = await runReportOn(name, invoices, { parameters });
    expect(cells(result, 'shipments', 'packages', 'billing_cost', 'cost_per_shipment')).toEqual([
      [4, 2, '20.0000', '10.0000'],
    ]);
  });
});

describe('a mean zone', () => {
  test('is reported by service, and only where its zones are a scale', async () => {
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
    const result = await runReportOn('mix', invoices, { parameters: { by: 'service' } });
    expect(cells(result, 'part', 'average_zone')).toEqual([
      ['Air', null],
      ['Freight', '17.25'],
      ['Ground', '5.00'],
      ['Home', null],
    ]);
  });
});

describe('ground services', () => {
  test('matches ground as a whole word only', async () => {
    const named = async (service: string) =>
      cells(await runReportOn('services', [anInvoice([aShipment({ service })])]), 'is_ground').flat();
    expect(await named('Playground Express')).toEqual([false]);
    expect(await named('UPS® GROUND')).toEqual([true]);
    expect(await named('Ground-Residential')).toEqual([true]);
  });
});

describe('a weight beyond all carriers', () => {
  test('is accepted by every report', async () => {
    const invoices = [
      anInvoice([
        aShipment({ weight: '99999999999999.9999' }),
        aShipment({ weight: '9999999999999', unit: 'KG' }),
      ]),
    ];
    for (const name of ['rate-card', 'outliers', 'what-if', 'bridge', 'services', 'price-changes']) {
      await runReportOn(name, invoices);
    }
    await runReportOn('cost', invoices, { parameters: { by: 'weight' } });
    expect(cells(await runReportOn('rate-card', invoices), 'lb')).toEqual([
      [22_046_226_217_998],
      [100_000_000_000_000],
    ]);
  });
});

describe('proof, by gravity', () => {
  test('lists a wrong total first and does not call late dates a contradiction', async () => {
    const result = await runReportOn('proof', [
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
    // The gravest difference comes first, whatever its currency.
    const two = await runReportOn('proof', [
      anInvoice([aShipment({ cost: '5', currency: 'EUR' })], {
        number: 'late in euros',
        currency: 'EUR',
        differences: [['period', '2026-03', '2026-02-20']],
      }),
      anInvoice([aShipment({ cost: '5' })], { number: 'wrong in dollars', statedTotal: '6' }),
    ]);
    expect(cells(two, 'invoice_number', 'grade')).toEqual([
      ['wrong in dollars', 'money'],
      ['late in euros', 'dates'],
    ]);
    // The head of every report counts the same three.
    expect(result.head.notes).toContain(
      'Contradicted by their own header or event: 3 invoices; the report proof shows how.',
    );
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

  test('stops at the requested instant', async () => {
    const result = await runReportOn('restatement', invoices, {
      filters: { asKnownOn: '2026-02-12T00:00:00Z' },
      parameters: { first: '2026-02-01' },
    });
    expect(cells(result, 'invoice_number', 'cause')).toEqual([
      ['gone', 'voided'],
      ['late', 'loaded'],
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
    const changesOf = async (carriers: string[]) =>
      cells(
        await runReportOn('restatement', renewed, {
          filters: { carriers },
          parameters: { first: '2026-02-01', second: '2026-03-01' },
        }),
        'cause',
        'difference',
      );
    expect(await changesOf(['ups'])).toEqual([]);
    expect(await changesOf(['dhl'])).toEqual([['new file', '1.0000']]);
  });

  test('agrees with each report as known on those instants', async () => {
    const total = async (asKnownOn: string): Promise<unknown> =>
      (await runReportOn('carriers', invoices, { filters: { asKnownOn } })).rows[0]?.billing_cost;
    expect(await total('2026-02-01')).toBe('25.0000');
    expect(await total('2026-03-01T00:00:00+00:00')).toBe('24.0000');
    expect((await runReportOn('carriers', invoices, { filters: { asKnownOn: '2025-01-01' } })).rows).toEqual(
      [],
    );
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
  ] as const)('has a row for each currency in %s, which add up to the shipments', async (name, amount) => {
    expect(cells(await runReportOn(name, invoices), 'currency_code', amount)).toEqual([
      ['EUR', '7.0000'],
      ['USD', '30.0000'],
    ]);
    const inEuros = await runReportOn(name, invoices, { filters: { currencies: ['EUR'] } });
    expect(cells(inEuros, 'currency_code', amount)).toEqual([['EUR', '7.0000']]);
  });
});
