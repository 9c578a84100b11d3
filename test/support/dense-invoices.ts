/** Few prices with many lines of each, the same for the same seed, for reports that compare like lines. */

import { testName } from './processes/environment.ts';
import {
  anInvoice,
  aShipment,
  decimalText,
  type FixtureInvoice,
  type FixtureShipment,
} from './reports-fixture.ts';

const WEIGHTS: readonly Pick<FixtureShipment, 'weight' | 'unit'>[] = [
  { weight: '0.4536', unit: 'KG' },
  { weight: '1.2', unit: 'LB' },
  { weight: '2', unit: 'LB' },
  { weight: '1', unit: 'LB' },
  { weight: null, unit: null },
];

export function denseInvoices(seed: number, count: number): FixtureInvoice[] {
  let state = seed;
  // Numerical Recipes' generator: its upper bits are random enough here.
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * limit);
  };
  const pick = <T>(...values: readonly T[]): T => values[below(values.length)] as T;
  return Array.from({ length: count }, (_, index) => {
    const month = 1 + (index % 4);
    const tenant = index % 3 === 0 ? testName() : 'Acme';
    const lines = Array.from({ length: 30 }, (): FixtureShipment => {
      const service = pick('Ground', 'Ground', 'UPS Ground Saver', '2Day', null);
      const zone = pick('2', 'Zone 5', '05', null);
      // A price list that rises by a tenth in March, with surcharges, credits and lines of zero.
      const list = 80_000n + (service === '2Day' ? 90_000n : 0n) + (zone === '2' ? 0n : 23_333n);
      const price = month >= 3 ? (list * 11n) / 10n : list;
      const odd = below(20);
      const cost =
        odd === 0 ? -price : odd === 1 ? 0n : odd === 2 ? price * 4n : odd === 3 ? price + 1n : price;
      return aShipment({
        ...{ tenant, service, zone, ...pick(...WEIGHTS), cost: decimalText(cost) },
        currency: below(8) === 0 ? 'EUR' : 'USD',
        carrier: pick('ups', 'ups', 'FedEx'),
        origin: pick('02139', '2139', ' 94107', 'k1a  0b1', null),
        shipDate: `2026-0${month}-${String(1 + below(27)).padStart(2, '0')}`,
        invoiceDate: `2026-0${month + 1}-${pick('03', '28')}`,
        carrierInvoiceDate: pick(null, `2026-0${month}-14`, `2026-0${month}-28`),
        tracking: `T${below(count * 12)}`,
      });
    });
    const isVoided = index % 7 === 6;
    return anInvoice(lines, {
      tenant,
      level: index % 5 === 4 ? 'partner' : index % 5 === 3 ? null : 'tenant',
      number: `D-${index}`,
      start: `2026-0${month}-01`,
      end: `2026-0${month}-20`,
      date: `2026-0${month + 1}-03`,
      due: `2026-0${month + 1}-${pick('10', '25')}`,
      ...(isVoided ? { state: 'voided', voidedAt: '2026-07-01T00:00:00Z' } : {}),
    });
  });
}
