/** The types of an invoice event as it travels inside billsync: neutral names, money as decimal text, JSON only. */

import type { EventType, WebhookStatus } from './names.ts';

/** What every event says about its invoice (spec 2.6). Dates are ISO 8601 text as received. */
export interface InvoiceHeader {
  readonly invoiceId: string;
  readonly partnerInvoiceId: string | null;
  /** null for partner-level invoices, which sum all tenants (spec 2.9). */
  readonly tenantId: string | null;
  readonly partnerTenantId: string | null;
  readonly invoiceNumber: string;
  readonly invoiceStatus: WebhookStatus;
  readonly invoiceStartDate: string;
  readonly invoiceEndDate: string;
  readonly invoiceDate: string;
  readonly invoiceDueDate: string;
  /** ISO 4217. */
  readonly currencyCode: string;
  /** Decimal text in `currencyCode`, digits exactly as the service wrote them, never exponent form. */
  readonly invoiceTotalAmount: string;
  readonly totalTransactionCount: number;
}

/** Where an invoice's CSV can be downloaded, and what its bytes must be (spec 2.7, 4.3). */
export interface ExportLocation {
  readonly presignedUrl: string;
  readonly presignedUrlExpiresAt: string;
  /** Lower-case hex. */
  readonly fileHashSha256: string;
  readonly fileSizeBytes: number;
}

/** What an event says about its invoice: the id always, the rest as far as it could be read (ADR 7). */
export type EventHeader = Pick<InvoiceHeader, 'invoiceId'> & Partial<InvoiceHeader>;

/** One webhook delivery that can be acted on (spec 2.4 to 2.7). */
export interface InvoiceEvent {
  /** The service's own, or one made from the delivery's bytes when it has none (ADR 7). */
  readonly eventId: string;
  /** ISO 8601; empty when it could not be read. */
  readonly eventTimestamp: string;
  readonly eventType: EventType;
  /** Empty when neither the delivery names one nor ours is known. */
  readonly partnerId: string;
  readonly isTestEvent: boolean;
  readonly invoice: EventHeader;
  /** null unless the event is invoice_finalized and says it all. */
  readonly export: ExportLocation | null;
}
