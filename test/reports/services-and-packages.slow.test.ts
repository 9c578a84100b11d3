/** Services, zones, packages and weights: small cases worked out by hand. */

import { describe, expect, test } from 'vitest';
import {
  anInvoice,
  aShipment,
  cells,
  type FixtureShipment,
  runReportOn,
} from '../support/reports-fixture.ts';

const many = (count: number, stated: Partial<FixtureShipment>): FixtureShipment[] =>
  Array.from({ length: count }, () => aShipment(stated));

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
    ['tenants', {}],
    ['carriers', {}],
    ['zones', {}],
    ['cost', { by: 'carrier+zone' }],
    ['summary', {}],
    ['summary', { grain: 'week' }],
    ['cost', { by: 'tenant+carrier+service' }],
    ['cost', { by: 'origin' }],
    ['cost', { by: 'weight' }],
    ['services', {}],
    ['mix', { by: 'zone' }],
    ['mix', { by: 'service', grain: 'week' }],
    ['mix', { by: 'weight' }],
  ] as const)('of four lines %s %j counts two and divides by two', async (name, parameters) => {
    const invoices = [anInvoice(fourLines.slice(0, 2)), anInvoice(fourLines.slice(2))];
    const result = await runReportOn(name, invoices, { parameters });
    expect(cells(result, 'shipments', 'packages', 'billing_cost', 'cost_per_shipment')).toEqual([
      [4, 2, '20.0000', '10.0000'],
    ]);
  });

  test('are counted per carrier and per row, including rows without zone, origin, weight or service', async () => {
    const nothing = { weight: null, unit: null, zone: null, service: null, origin: null };
    const invoices = [
      anInvoice([
        ...fourLines,
        line('A', '6', { carrier: 'fedex' }),
        line('B', '8', nothing),
        line('B', '4', nothing),
      ]),
    ];
    for (const [name, parameters] of [
      ['zones', {}],
      ['cost', { by: 'origin' }],
      ['cost', { by: 'weight' }],
    ] as const) {
      const result = await runReportOn(name, invoices, { parameters });
      expect(cells(result, 'shipments', 'packages', 'cost_per_shipment')).toEqual(
        expect.arrayContaining([
          // Two of the usual carrier and one of FedEx, 26 by 3; and B once more where it has no cells.
          [5, 3, '8.6667'],
          [2, 1, '12.0000'],
        ]),
      );
    }
    expect(cells(await runReportOn('services', invoices), 'shipments', 'packages')).toEqual(
      expect.arrayContaining([
        [4, 2],
        [2, 1],
        [1, 1],
      ]),
    );
  });

  test('compares packages with ground: two ground services that bill one number are one package', async () => {
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
    expect(cells(await runReportOn('services', invoices), ...columns)).toEqual([
      ['2Day', 1, '10.0000', '5.0000', '50.00'],
      ['Ground', 1, '10.0000', null, null],
      ['Home Ground', 1, '10.0000', null, null],
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

describe('services, by a word', () => {
  test('matches ground as a whole word only', async () => {
    const named = async (service: string) =>
      cells(await runReportOn('services', [anInvoice([aShipment({ service })])]), 'is_ground').flat();
    expect(await named('Playground Express')).toEqual([false]);
    expect(await named('UPS® GROUND')).toEqual([true]);
    expect(await named('Ground-Residential')).toEqual([true]);
  });
});

describe('services, rounding', () => {
  test('divides exact sums and rounds once', async () => {
    const result = await runReportOn('services', [
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

describe('what-if', () => {
  test('reprices covered shipments only and reports the coverage', async () => {
    const result = await runReportOn('what-if', [
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

  test('computes the savings of a lower service and of a nearer zone', async () => {
    const air = { carrier: 'ups', service: '2Day' };
    const ground = { carrier: 'ups', service: 'Ground' };
    const invoices = [
      anInvoice([
        ...many(2, { ...air, zone: '2', weight: '2', cost: '20' }),
        aShipment({ ...air, zone: '8', weight: '2', cost: '31' }),
        ...many(3, { ...ground, zone: '2', weight: '1.5', cost: '9' }),
        ...many(3, { ...ground, zone: 'Zone 5', weight: '2', cost: '11' }),
        ...many(3, { carrier: 'fedex', service: 'Ground', zone: '2', weight: '2', cost: '1' }),
      ]),
    ];
    const services = await runReportOn('what-if', invoices, { parameters: { by: 'service' } });
    // Two of three by air go where ground has three prices: 40 less two times 9.
    expect(
      cells(
        services,
        'carrier',
        'service_level',
        'other_service',
        'shipments',
        'covered_shipments',
        'saving',
      ),
    ).toEqual([
      ['ups', '2Day', 'Ground', 3, 2, '22.0000'],
      ['ups', 'Ground', '2Day', 6, 0, '0.0000'],
    ]);
    const zones = await runReportOn('what-if', invoices, { parameters: { by: 'zone' } });
    const saved = cells(zones, 'zone', 'other_zone', 'covered_shipments', 'saving', 'saving_per_shipment');
    // From zone 5 to zone 2 each of three saves 11 less 9; nothing else has three prices on the other side.
    expect(saved.filter(([, , covered]) => covered !== 0)).toEqual([
      ['2', '5', 3, '-6.0000', '-2.0000'],
      ['5', '2', 3, '6.0000', '2.0000'],
    ]);
    expect(zones.columns.map(({ name }) => name)).not.toContain('other_carrier');
  });
});
