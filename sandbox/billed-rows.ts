/** Every row as billed, whatever faults changed in files and events. */

import type { Account } from './account.ts';
import type { InternalStatus } from './model.ts';

/** Decimals are exact text, empty cells null. */
export interface BilledRow {
  readonly invoiceId: string;
  readonly invoiceNumber: string;
  readonly status: InternalStatus;
  readonly level: 'tenant' | 'partner';
  /** Tenant name, or partner name on partner-level invoices. */
  readonly tenant: string;
  readonly tenantId: string | null;
  readonly invoiceDate: string;
  readonly shipDate: string;
  readonly origin: string | null;
  readonly currencyCode: string;
  readonly billingCost: string;
  readonly billableWeight: string | null;
  readonly unit: string | null;
  readonly trackingNumber: string;
  readonly carrier: string;
  readonly zone: string | null;
  readonly carrierInvoiceDate: string | null;
  readonly serviceLevel: string | null;
}

export async function* billedRows({ billing }: Account): AsyncGenerator<BilledRow> {
  for (const invoice of billing.invoices()) {
    const tenant = billing.tenantOf(invoice);
    const front = {
      invoiceId: invoice.invoiceId,
      invoiceNumber: invoice.invoiceNumber,
      status: invoice.status,
      level: invoice.tenantId === null ? ('partner' as const) : ('tenant' as const),
      tenant: tenant?.name ?? billing.partner.name,
      tenantId: invoice.tenantId,
      invoiceDate: invoice.invoiceDate,
    };
    for (const { shipment: s } of billing.rows(invoice)) {
      yield {
        ...front,
        shipDate: s.shipDate,
        origin: s.origin || null,
        currencyCode: invoice.currencyCode,
        billingCost: s.billingCost,
        billableWeight: s.billableWeight || null,
        unit: s.billableWeightUnit || null,
        trackingNumber: s.trackingNumber,
        carrier: s.carrier,
        zone: s.carrierZone || null,
        carrierInvoiceDate: s.carrierInvoiceDate || null,
        serviceLevel: s.serviceLevel || null,
      };
    }
  }
}
