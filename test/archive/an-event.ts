/** Builds events for tests, which give only the values that matter to them. */

import { randomUUID } from 'node:crypto';
import type { ArchivedEvent } from '../../archive/archive.ts';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';

export function anEvent(over: Partial<InvoiceEvent> = {}): InvoiceEvent {
  return {
    eventId: randomUUID(),
    eventTimestamp: '2026-03-01T00:00:00Z',
    eventType: 'invoice_created',
    partnerId: '11111111-1111-1111-1111-111111111111',
    isTestEvent: false,
    invoice: {
      invoiceId: randomUUID(),
      partnerInvoiceId: null,
      tenantId: '22222222-2222-2222-2222-222222222222',
      partnerTenantId: 'T-1',
      invoiceNumber: 'INV-1',
      invoiceStatus: 'draft',
      invoiceStartDate: '2026-02-01',
      invoiceEndDate: '2026-02-28',
      invoiceDate: '2026-03-01',
      invoiceDueDate: '2026-03-16',
      currencyCode: 'USD',
      invoiceTotalAmount: '12.3400',
      totalTransactionCount: 3,
    },
    export: null,
    ...over,
  };
}

export function anArchivedEvent(over: Partial<ArchivedEvent> = {}): ArchivedEvent {
  const eventId = over.eventId ?? randomUUID();
  return {
    eventId,
    receivedAt: '2026-03-01T00:00:00.000Z',
    verdict: 'accepted',
    reason: null,
    event: anEvent({ eventId }),
    envelope: '{}',
    ...over,
  };
}
