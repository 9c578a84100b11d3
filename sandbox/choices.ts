/** The shapes that the spec leaves open; docs/sandbox-choices.md gives the reasons. */

import { type Invoice, WEBHOOK_STATUS } from './model.ts';
import { exactNumber } from './money.ts';
import type { BilledShipment } from './storage/shipments.ts';

export const DELIVERY_METHOD = 'POST';
export const DELIVERY_CONTENT_TYPE = 'application/json; charset=utf-8';
export const DELIVERY_USER_AGENT = 'billing-sandbox/1';

export const API_KEY_HEADER = 'x-api-key';

export const GRANTED_SCOPES = 'deliveryexperience:read billing.invoices:read billing.invoices:export';

/** Dates of an invoice are ISO 8601 instants on the wire (spec 2.6). */
export function wireDate(date: string): string {
  return `${date}T00:00:00Z`;
}

/** `details`: the 400 of regenerate (spec 7). */
export function errorBody(error: string, description: string, details?: readonly ErrorDetail[]): object {
  return { error, error_description: description, ...(details === undefined ? {} : { details }) };
}

export interface ErrorDetail {
  readonly field: string;
  readonly issue: string;
}

export interface InvoiceFieldsOptions {
  readonly invoice: Invoice;
  readonly partnerTenantId: string | null;
  readonly wirePrefix: string;
}

/** The fields of spec 2.6; amounts keep their digits. */
export function invoiceFields({ invoice, partnerTenantId, wirePrefix }: InvoiceFieldsOptions): object {
  const stated = invoice.stated;
  return {
    [`${wirePrefix}InvoiceId`]: invoice.invoiceId,
    partnerInvoiceId: invoice.partnerInvoiceId,
    [`${wirePrefix}TenantId`]: invoice.tenantId,
    partnerTenantId,
    invoiceNumber: invoice.invoiceNumber,
    invoiceStatus: WEBHOOK_STATUS[invoice.status],
    invoiceStartDate: wireDate(invoice.startDate),
    invoiceEndDate: wireDate(invoice.endDate),
    invoiceDate: wireDate(invoice.invoiceDate),
    invoiceDueDate: wireDate(invoice.dueDate),
    currencyCode: stated?.currencyCode ?? invoice.currencyCode,
    invoiceTotalAmount: exactNumber(stated?.totalAmount ?? invoice.totalAmount),
    totalTransactionCount: stated?.transactionCount ?? invoice.shipmentCount,
  };
}

/** The details of an invoice without `lineItems`, which are streamed behind them (spec 4.4, 2.9). */
export function detailsHead(options: InvoiceFieldsOptions): object {
  return { ...invoiceFields(options), status: options.invoice.status };
}

export function detailsLineItem({ shipment: s }: BilledShipment, currencyCode: string): object {
  return {
    shipDate: s.shipDate,
    origin: textOrNull(s.origin),
    currencyCode,
    billingCost: exactNumber(s.billingCost),
    billableWeight: s.billableWeight === '' ? null : exactNumber(s.billableWeight),
    billableWeightUnit: textOrNull(s.billableWeightUnit),
    trackingNumber: s.trackingNumber,
    carrier: s.carrier,
    carrierZone: textOrNull(s.carrierZone),
    carrierInvoiceDate: textOrNull(s.carrierInvoiceDate),
    serviceLevel: textOrNull(s.serviceLevel),
  };
}

export const CSV_CONTENT_TYPE = 'text/csv; charset=utf-8';

export function exportCsvHeaders(invoice: Invoice): Record<string, string> {
  return {
    'content-type': CSV_CONTENT_TYPE,
    'content-disposition': `attachment; filename="invoice-${invoice.invoiceId}.csv"`,
  };
}

function textOrNull(text: string): string | null {
  return text === '' ? null : text;
}
