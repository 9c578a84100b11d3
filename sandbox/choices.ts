/**
 * The shapes that the spec leaves open, each defined once; docs/sandbox-choices.md gives the reasons.
 */

import { type Invoice, WEBHOOK_STATUS } from './model.ts';
import { exactNumber } from './money.ts';
import type { BilledShipment } from './storage/shipments.ts';

/** How a delivery is sent (spec 4.6 leaves method and content type open). */
export const DELIVERY_METHOD = 'POST';
export const DELIVERY_CONTENT_TYPE = 'application/json; charset=utf-8';
export const DELIVERY_USER_AGENT = 'billing-sandbox/1';

/** How an API key is presented (spec 5). */
export const API_KEY_HEADER = 'x-api-key';

/** The scopes every client is granted (spec 2.1 defines the field, not its values). */
export const GRANTED_SCOPES = 'deliveryexperience:read billing.invoices:read billing.invoices:export';

/** A date of the payload (ISO 8601 in spec 2.6): midnight UTC. */
export function wireDate(date: string): string {
  return `${date}T00:00:00Z`;
}

/** The body of every error; the 400 of regenerate has `details` (spec 7 defines the names of `invalid_token` only). */
export function errorBody(error: string, description: string, details?: readonly ErrorDetail[]): object {
  return { error, error_description: description, ...(details === undefined ? {} : { details }) };
}

export interface ErrorDetail {
  readonly field: string;
  readonly issue: string;
}

/** The fields of spec 2.6 under the maker's spelling of the two identifiers. */
export interface InvoiceFieldsOptions {
  readonly invoice: Invoice;
  readonly partnerTenantId: string | null;
  readonly wirePrefix: string;
}

/** The payload of an event (spec 2.6), its ids under the given prefix; amounts keep their digits. */
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

/**
 * The details answer (spec 4.4, 2.9): the fields of 2.6, the internal status, and
 * `lineItems`. Split in two so that the line items can be streamed in between.
 */
export function detailsHead(options: InvoiceFieldsOptions): object {
  return { ...invoiceFields(options), status: options.invoice.status };
}

/** A line of the invoice details, whose shape the spec leaves open (spec 4.4). */
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

/** Content type of export-csv (spec 4.5) and of storage. */
export const CSV_CONTENT_TYPE = 'text/csv; charset=utf-8';

/** Headers of the answer of export-csv, which the spec leaves open (spec 4.5). */
export function exportCsvHeaders(invoice: Invoice): Record<string, string> {
  return {
    'content-type': CSV_CONTENT_TYPE,
    'content-disposition': `attachment; filename="invoice-${invoice.invoiceId}.csv"`,
  };
}

function textOrNull(text: string): string | null {
  return text === '' ? null : text;
}
