import { type Finding, type Planted, planMonths } from '../../sandbox/billing/months.ts';
import { seededTenants } from '../../sandbox/billing/new-invoice.ts';
import type { Shipment, Tenant } from '../../sandbox/model.ts';
import { anInvoice, aShipment, type FixtureInvoice } from './reports-fixture.ts';

export type MonthsInvoice = FixtureInvoice & { readonly planted: readonly Planted[] };

export function monthsInvoices(wanted: {
  readonly now: Date;
  readonly months: number;
  readonly shipments: number;
}): MonthsInvoice[] {
  const tenants = seededTenants(3, 'test');
  return [...planMonths({ ...wanted, seed: 3, tenants })].map(({ invoice, ends, planted }) => {
    const tenant = tenants.find(({ tenantId }) => tenantId === invoice.tenant) as Tenant;
    const {
      invoiceStartDate: start = '',
      invoiceEndDate: end = '',
      invoiceDate: date = '',
    } = invoice.set ?? {};
    const lines = invoice.shipments as readonly Shipment[];
    const shipments = lines.map((line) => shipmentOf(line, tenant, date));
    const isVoided = ends === 'canceled';
    const billed = anInvoice(ends === 'draft' ? [] : shipments, {
      ...{ tenant: tenant.name, tenantId: tenant.tenantId, currency: tenant.currencyCode, start, end, date },
      ...{ due: dayAfter(date, 15), createdAt: `${date}T08:00:00Z`, loadedAt: `${date}T12:00:00Z` },
      state: ends === 'draft' ? 'draft' : isVoided ? 'voided' : 'loaded',
      proof: ends === 'draft' ? null : 'hash',
      voidedAt: isVoided ? `${dayAfter(date, 3)}T09:00:00Z` : null,
    });
    return { ...billed, planted: ends === 'draft' ? [] : planted };
  });
}

export function plantedIn(
  invoices: readonly MonthsInvoice[],
  ...plants: readonly Finding[]
): Record<string, string> {
  const planted = invoices
    .filter(({ state }) => state === 'loaded')
    .flatMap((invoice) => invoice.planted.map((plant) => ({ ...plant, id: invoice.id })))
    .filter(({ what }) => plants.includes(what));
  return Object.fromEntries(
    planted.map(({ id, rowNumber, amount }) => [`${id}:${rowNumber}`, `${amount}00`]),
  );
}

function shipmentOf(line: Shipment, { name, currencyCode }: Tenant, invoiceDate: string) {
  const orNone = (cell: string): string | null => (cell === '' ? null : cell);
  return aShipment({
    ...{ tenant: name, currency: currencyCode, invoiceDate, shipDate: line.shipDate },
    ...{ cost: line.billingCost, tracking: line.trackingNumber, carrier: line.carrier },
    ...{ weight: orNone(line.billableWeight), unit: orNone(line.billableWeightUnit) },
    ...{ origin: orNone(line.origin), zone: orNone(line.carrierZone), service: orNone(line.serviceLevel) },
    carrierInvoiceDate: orNone(line.carrierInvoiceDate),
  });
}

function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
}
