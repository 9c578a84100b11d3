/** Every row as billed, whatever faults changed in files and events. */

import type { Account } from './account.ts';
import type { Invoice, Shipment } from './model.ts';

/** A row of an invoice as it was billed: decimals are exact text, an empty cell is null. */
export type BilledRow = ReturnType<typeof billedRow>;

export async function* billedRows({ billing }: Account): AsyncGenerator<BilledRow> {
  for (const invoice of billing.invoices()) {
    const tenant = billing.tenantOf(invoice)?.name ?? billing.partner.name;
    for (const { shipment } of billing.rows(invoice)) yield billedRow(invoice, tenant, shipment);
  }
}

/** @param tenant the partner's name on partner-level invoices */
function billedRow(invoice: Invoice, tenant: string, shipment: Shipment) {
  const { invoiceId, invoiceNumber, status, tenantId, invoiceDate, currencyCode } = invoice;
  const { shipDate, billingCost, trackingNumber, carrier } = shipment;
  return {
    ...{ invoiceId, invoiceNumber, status, tenant, tenantId, invoiceDate, currencyCode },
    level: tenantId === null ? ('partner' as const) : ('tenant' as const),
    ...{ shipDate, billingCost, trackingNumber, carrier },
    origin: shipment.origin || null,
    billableWeight: shipment.billableWeight || null,
    unit: shipment.billableWeightUnit || null,
    zone: shipment.carrierZone || null,
    carrierInvoiceDate: shipment.carrierInvoiceDate || null,
    serviceLevel: shipment.serviceLevel || null,
  };
}
