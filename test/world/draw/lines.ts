/** Lines of files. Pools are small, so that equal values, ties and repeated numbers are common. */

import fc from 'fast-check';
import type { Row } from '../history.ts';

/** One of the values; the earlier ones are more common, and a failure shrinks to the first. */
export function mostly<T>(...values: readonly [T, ...T[]]): fc.Arbitrary<T> {
  const [first] = values;
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(first) },
    { weight: 2, arbitrary: fc.constantFrom(...values) },
  );
}

export const DAYS = [
  ...['2026-01-31', '2026-01-30', '2026-02-01', '2026-02-28', '2026-03-01', '2026-01-05', '2026-01-04'],
  ...['2025-12-31', '2026-01-01', '2024-02-29', '2025-02-28', '2026-04-30', '2026-10-31', '2025-12-29'],
] as const;
const FAR_DAYS = ['1969-12-31', '0001-01-01', '9999-12-31', '2262-04-12', '1582-10-10'] as const;

export const day = fc.oneof(
  { weight: 60, arbitrary: mostly(...DAYS) },
  { weight: 1, arbitrary: fc.constantFrom(...FAR_DAYS) },
);

const COSTS = [
  '10',
  '8.74',
  '9.99',
  '10.00',
  '-10',
  '0',
  '1',
  '20.5',
  '-8.74',
  '0.0001',
  '-0.0001',
  '3.3333',
  '1.005',
  '-0',
] as const;
const FAR_COSTS = ['99999999999999.9999', '-99999999999999.9999', '12345678901234.5678'] as const;
type Weight = readonly [string, string];
const WEIGHTS: readonly [Weight, ...Weight[]] = [
  ['1', 'LB'],
  ...([
    ['2', 'LB'],
    ['', ''],
    ['1', 'KG'],
    ['0.4536', 'KG'],
    ['0.45359237', ''],
    ['1.2', 'LB'],
    ['0', 'LB'],
    ['0.5', 'KG'],
    ['151', 'LB'],
    ['0.0001', 'KG'],
    ...([['4'], ['7.5'], ['20'], ['20.0001'], ['31'], ['70'], ['99']] as const).map(
      ([weight]): Weight => [weight, 'LB'],
    ),
  ] as const),
];
export const CARRIERS = [
  'ups',
  'UPS',
  'FedEx',
  'DHL Express',
  '<b>usps</b>',
  'ups ',
  '123456789012',
] as const;
export const ZONES = [
  '5',
  'Zone 5',
  '05',
  '',
  '2',
  '17.5',
  'zone a',
  'A',
  'ZONE-05',
  '-',
  'Zone -',
  '-17.5',
  '1E3',
  '10',
  '12.50',
  '1Z999999999',
  ...(['zone#A', 'ZoneA', 'zone', '00', 'Zone - 5', 'zone zone 5', ' 044 '] as const),
] as const;
export const CURRENCIES = ['USD', 'EUR', 'JPY'] as const;
const SERVICES = [
  'Ground',
  '2Day',
  '',
  'UPS Ground®',
  'Playground Express',
  'ground',
  '(none)',
  'total',
  '__proto__',
  '10.50',
  '2026-03-02',
] as const;
const ORIGINS = [
  '02139',
  '2139',
  '',
  ' 94107',
  'k1a  0b1',
  '94107',
  'K1A 0B1',
  '1Z999999999',
  '\u00a0ab1\u00a02cd\t',
  '\u2003',
] as const;
const NUMBERS = [
  '1Z1',
  '1Z2',
  '1Z3',
  '1Z4',
  '1Z5',
  '1Z6',
  'A',
  'a',
  '1.23E+11',
  '1Z7',
  '1Z8',
  '1Z9',
  '1Z999999999',
] as const;
/** Names that look like other names, like formulas, like markup or like ours for a missing value. */
export const NAMES = [
  ...[
    'Acme',
    'Beta',
    'acme',
    'Acme, "Inc."',
    '=1+1',
    'Beta ',
    '<i>Gamma</i>',
    'Acme (no id)',
    'Ünï\u0301 𝒳',
    '(none)',
  ],
] as const;

const weight = fc
  .oneof(
    { weight: 40, arbitrary: mostly(...WEIGHTS) },
    { weight: 1, arbitrary: fc.constant<Weight>(['99999999999999.9999', 'KG']) },
  )
  .map(([weight, unit]) => ({ weight: unit === '' ? '' : weight, unit }));

/** `currency` null: that of the file. */
export type Drawn = Omit<Row, 'tenant' | 'invoiceDate' | 'currency'> & { readonly currency: string | null };

export const row: fc.Arbitrary<Drawn> = fc
  .record({
    shipDate: day,
    origin: mostly(...ORIGINS),
    currency: fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, fc.constantFrom(...CURRENCIES)),
    cost: fc.oneof({ weight: 60, arbitrary: mostly(...COSTS) }, fc.constantFrom(...FAR_COSTS)),
    weight,
    tracking: mostly(...NUMBERS),
    carrier: mostly(...CARRIERS),
    zone: mostly(...ZONES),
    carrierInvoiceDate: fc.oneof(fc.constant(''), day),
    service: mostly(...SERVICES),
  })
  .map(({ weight, ...cells }) => ({ ...cells, ...weight }));

/** Few prices, and many lines of each; some lack what a price needs. */
export const likeRow: fc.Arbitrary<Drawn> = fc
  .record({
    shipDate: fc.constantFrom(
      ...['2026-01-05', '2026-01-31', '2026-02-01', '2026-02-28', '2025-12-31', '2025-11-15', '2025-10-01'],
    ),
    origin: mostly('94107', '02139', '2139', ''),
    currency: fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, fc.constant('EUR')),
    cost: mostly('10', '11', '12.5', '30', '-10', '9.5', '0'),
    weight: mostly<Weight>(['1', 'LB'], ['0.4536', 'KG'], ['8', 'LB'], ['2', 'LB'], ['', '']),
    ...{ tracking: fc.constantFrom(...NUMBERS), carrier: mostly('ups', 'FedEx', 'DHL Express') },
    ...{
      zone: mostly('5', 'Zone 5', '2', '8', ''),
      carrierInvoiceDate: mostly('2026-01-31', '', '2026-02-15'),
    },
    service: mostly('Ground', '2Day', 'Overnight', ''),
  })
  .map(({ weight: [weight, unit], ...cells }) => ({ ...cells, weight, unit }));

/** Amounts, weights and days at the limits of their columns, and more of one price than 128 bits hold squares of it. */
export const farRow: fc.Arbitrary<Drawn> = fc
  .record({
    like: likeRow,
    cost: mostly('99999999999999.9999', '0.0001', '-99999999999999.9999', '0'),
    weight: mostly<Weight>(
      ['99999999999999.9999', 'LB'],
      ['99999999999999.9999', 'KG'],
      ['0.0001', 'KG'],
      ['', ''],
    ),
    shipDate: mostly('2026-02-28', '2026-01-31', '0001-01-01', '9999-12-31'),
  })
  .map(({ like, cost, weight: [weight, unit], shipDate }) => ({
    ...{
      ...like,
      cost,
      weight,
      unit,
      shipDate,
      currency: 'IRR',
      service: 'Ground',
      zone: '9',
      origin: '94107',
    },
  }));
