/** A few hundred difficult shipments, the same for the same seed, for tests of reports. */

import { testName } from './processes/environment.ts';
import { createRandom } from './random.ts';
import { anInvoice, aShipment, type FixtureInvoice, type FixtureShipment } from './reports-fixture.ts';

const TENANTS = ['Acme', 'Beta, "Inc"', '=cmd|calc'];
const CARRIERS = ['ups', 'fedex', 'dhl express'];
const ZONES = ['2', 'Zone 5', '05', '5', '8', 'ZONE-44', 'AK', null];
const SERVICES = ['Ground', '2Day', null];
const ORIGINS = ['94107', '07001', 'K1A 0B1', null];

export function seededInvoices(seed: number, count: number): FixtureInvoice[] {
  const random = createRandom(seed);
  const below = (limit: number): number => random.between(0, limit - 1);
  const { pick } = random;
  const tenants = [...TENANTS, testName()];
  const services = [...SERVICES, testName()];
  return Array.from({ length: count }, (_, index) => {
    const tenant = tenants[index % tenants.length] ?? 'Acme';
    const month = 1 + (index % 5);
    const currency = below(4) === 0 ? 'EUR' : 'USD';
    const shipments = Array.from({ length: 3 + below(12) }, (_unused, place): FixtureShipment => {
      const shipDay = 1 + below(27);
      const cents = below(900_000) - (below(8) === 0 ? 900_000 : 0);
      const hasWeight = below(10) > 0;
      return aShipment({
        tenant,
        currency,
        cost: `${cents < 0 ? '-' : ''}${Math.floor(Math.abs(cents) / 10_000)}.${String(Math.abs(cents) % 10_000).padStart(4, '0')}`,
        weight: hasWeight ? `${below(80)}.${String(below(10_000)).padStart(4, '0')}` : null,
        unit: hasWeight ? pick(['LB', 'LB', 'KG']) : null,
        shipDate: `2026-0${month}-${String(shipDay).padStart(2, '0')}`,
        invoiceDate: `2026-0${month + 1 + below(2)}-03`,
        carrierInvoiceDate: below(5) === 0 ? null : `2026-0${month}-28`,
        carrier: pick(CARRIERS),
        zone: pick(ZONES),
        service: pick(services),
        origin: pick(ORIGINS),
        // Some numbers occur on several lines: of one invoice, of another tenant's, and of another carrier.
        tracking: place % 5 === 4 ? `T${seed}-${index % 7}-${place % 3}` : `T${seed}-${index}-${place}`,
      });
    });
    const isVoided = index % 11 === 10;
    return anInvoice(shipments, {
      tenant,
      currency,
      date: `2026-0${month + 1}-03`,
      level: index % 9 === 8 ? 'partner' : index % 9 === 7 ? null : 'tenant',
      proof: index % 6 === 5 ? 'unproved' : 'hash',
      ...(isVoided ? { state: 'voided', voidedAt: '2026-08-01T00:00:00Z' } : {}),
    });
  });
}

/** The rows a report at tenant level counts, as plain values. */
export function countedShipments(
  invoices: readonly FixtureInvoice[],
): (FixtureShipment & { readonly invoiceId: string })[] {
  return invoices
    .filter((invoice) => invoice.state === 'loaded' && invoice.level !== 'partner')
    .flatMap((invoice) => invoice.shipments.map((shipment) => ({ ...shipment, invoiceId: invoice.id })));
}
