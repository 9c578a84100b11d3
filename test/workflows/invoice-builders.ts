import { randomUUID } from 'node:crypto';
import type { ExportLocation, InvoiceEvent, InvoiceHeader } from '../../lib/wire/invoice-event.ts';
import { EVENTS, type EventType } from '../../lib/wire/names.ts';

export const PARTNER_ID = '0b0b0b0b-0000-4000-8000-000000000001';

export function aHeader(overrides: Partial<InvoiceHeader> = {}): InvoiceHeader {
  return {
    invoiceId: randomUUID(),
    partnerInvoiceId: null,
    tenantId: '7e7e7e7e-0000-4000-8000-000000000001',
    partnerTenantId: 'T-1',
    invoiceNumber: 'INV-1',
    invoiceStatus: 'draft',
    invoiceStartDate: '2026-03-01T00:00:00Z',
    invoiceEndDate: '2026-03-08T00:00:00Z',
    invoiceDate: '2026-03-09T00:00:00Z',
    invoiceDueDate: '2026-03-24T00:00:00Z',
    currencyCode: 'USD',
    invoiceTotalAmount: '12.34',
    totalTransactionCount: 2,
    ...overrides,
  };
}

/** A file with a URL for a day and a hash of its own. */
export function aLocation(overrides: Partial<ExportLocation> = {}): ExportLocation {
  return {
    presignedUrl: `https://storage.example/${randomUUID()}.csv?signature=secret-of-the-url`,
    presignedUrlExpiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    fileHashSha256: randomUUID().replaceAll('-', '').repeat(2),
    fileSizeBytes: 321,
    ...overrides,
  };
}

export function anEvent(
  eventType: EventType,
  overrides: {
    readonly invoiceId?: string;
    readonly eventId?: string;
    readonly at?: string;
    readonly location?: ExportLocation;
  } = {},
): InvoiceEvent {
  const { invoiceId = randomUUID(), eventId = randomUUID(), at = '2026-03-09T10:00:00Z' } = overrides;
  const { status: invoiceStatus, bringsFile } = EVENTS[eventType];
  return {
    eventId,
    eventTimestamp: at,
    eventType,
    partnerId: PARTNER_ID,
    isTestEvent: false,
    invoice: aHeader({ invoiceId, invoiceStatus }),
    export: bringsFile ? (overrides.location ?? aLocation()) : null,
  };
}
