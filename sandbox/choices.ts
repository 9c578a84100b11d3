/**
 * What the spec does not show, decided once. Change a shape here and the whole sandbox follows;
 * docs/sandbox-choices.md says why each is as it is.
 */

import { WEBHOOK_STATUS } from './lifecycle.ts';
import type { Invoice } from './model.ts';
import { ExactNumber } from './money.ts';
import type { BilledShipment } from './storage/shipments.ts';

/** How a delivery is sent (spec 4.6 shows neither method nor content type). */
export const DELIVERY_METHOD = 'POST';
export const DELIVERY_CONTENT_TYPE = 'application/json; charset=utf-8';
export const DELIVERY_USER_AGENT = 'billing-sandbox/1';

/** How an API key is presented (spec 5). */
export const API_KEY_HEADER = 'x-api-key';

/** The scopes every client is granted (spec 2.1 shows the field, not its words). */
export const GRANTED_SCOPES = 'deliveryexperience:read billing.invoices:read billing.invoices:export';

/** A date of the payload (spec 2.6 says ISO 8601): midnight UTC. */
export function wireDate(date: string): string {
  return `${date}T00:00:00Z`;
}

/** Every error body, the 400 of regenerate with `details` (spec 7 shows the names of `invalid_token` only). */
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
  const { invoiceId, tenantId } = namesUnder(wirePrefix);
  const fields: Record<string, unknown> = {};
  fields[invoiceId] = invoice.invoiceId;
  fields.partnerInvoiceId = invoice.partnerInvoiceId;
  fields[tenantId] = invoice.tenantId;
  fields.partnerTenantId = partnerTenantId;
  fields.invoiceNumber = invoice.invoiceNumber;
  fields.invoiceStatus = WEBHOOK_STATUS[invoice.status];
  fields.invoiceStartDate = wireDate(invoice.startDate);
  fields.invoiceEndDate = wireDate(invoice.endDate);
  fields.invoiceDate = wireDate(invoice.invoiceDate);
  fields.invoiceDueDate = wireDate(invoice.dueDate);
  fields.currencyCode = stated?.currencyCode ?? invoice.currencyCode;
  fields.invoiceTotalAmount = new ExactNumber(stated?.totalAmount ?? invoice.totalAmount);
  fields.totalTransactionCount = stated?.transactionCount ?? invoice.shipmentCount;
  return fields;
}

const names = new Map<string, { readonly invoiceId: string; readonly tenantId: string }>();

function namesUnder(wirePrefix: string) {
  let found = names.get(wirePrefix);
  if (found === undefined) {
    found = { invoiceId: `${wirePrefix}InvoiceId`, tenantId: `${wirePrefix}TenantId` };
    names.set(wirePrefix, found);
  }
  return found;
}

/**
 * The details answer (spec 4.4, 2.9): the fields of 2.6, the status in the service's own words beside them, and
 * `lineItems`. Split in two so that the line items can be streamed in between.
 */
export function detailsHead(options: InvoiceFieldsOptions): object {
  return { ...invoiceFields(options), status: options.invoice.status };
}

/** A line of the invoice details, whose shape is not shown (spec 4.4). */
export function detailsLineItem({ shipment: s }: BilledShipment, currencyCode: string): object {
  return {
    shipDate: s.shipDate,
    origin: textOrNull(s.origin),
    currencyCode,
    billingCost: new ExactNumber(s.billingCost),
    billableWeight: s.billableWeight === '' ? null : new ExactNumber(s.billableWeight),
    billableWeightUnit: textOrNull(s.billableWeightUnit),
    trackingNumber: s.trackingNumber,
    carrier: s.carrier,
    carrierZone: textOrNull(s.carrierZone),
    carrierInvoiceDate: textOrNull(s.carrierInvoiceDate),
    serviceLevel: textOrNull(s.serviceLevel),
  };
}

/** Headers of the export-csv answer (spec 4.5); storage answers with the same content type. */
export const CSV_CONTENT_TYPE = 'text/csv; charset=utf-8';

/** Headers of the answer of export-csv, which are not shown (spec 4.5). */
export function exportCsvHeaders(invoice: Invoice): Record<string, string> {
  return {
    'content-type': CSV_CONTENT_TYPE,
    'content-disposition': `attachment; filename="invoice-${invoice.invoiceId}.csv"`,
  };
}

function textOrNull(text: string): string | null {
  return text === '' ? null : text;
}
