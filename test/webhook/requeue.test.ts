import { describe, expect, test } from 'vitest';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { discardQuarantined, replayEvents } from '../../webhook/requeue.ts';
import { anArchivedEvent, anEvent } from '../archive/an-event.ts';
import { aDelivery, openParts, type Parts } from './a-delivery.ts';

describe('replayEvents', () => {
  async function anArchive(): Promise<Parts & { invoiceId: string }> {
    const parts = await openParts();
    const event = anEvent();
    const accepted = (receivedAt: string, over: Partial<InvoiceEvent> = {}): Promise<unknown> => {
      const own = { ...anEvent(), ...over };
      return parts.archive.putEvent(anArchivedEvent({ eventId: own.eventId, receivedAt, event: own }));
    };
    await accepted('2026-03-01T00:00:00.000Z', { invoice: event.invoice });
    await accepted('2026-03-02T00:00:00.000Z', { eventType: 'invoice_voided' });
    await accepted('2026-03-03T00:00:00.000Z', {
      invoice: { ...anEvent().invoice, tenantId: null, partnerTenantId: 'ACME' },
    });
    await parts.archive.putEvent(anArchivedEvent({ verdict: 'test' }));
    await parts.archive.putEvent(anArchivedEvent({ verdict: 'quarantined', reason: 'foreign-partner' }));
    return { ...parts, invoiceId: event.invoice.invoiceId };
  }

  test('sends accepted events again in order, not test and refused ones', async () => {
    const { archive } = await anArchive();
    const sent: InvoiceEvent[] = [];
    const send = async (event: InvoiceEvent): Promise<void> => void sent.push(event);
    expect(await replayEvents({ archive, send })).toBe(3);
    expect(sent.map((event) => event.eventType)).toEqual([
      'invoice_created',
      'invoice_voided',
      'invoice_created',
    ]);
  });

  test('filters by time, type, invoice and tenant', async () => {
    const { archive, invoiceId } = await anArchive();
    const matched = (filter: object): Promise<number> =>
      replayEvents({ archive, send: async () => undefined, ...filter });
    expect(await matched({})).toBe(3);
    expect(await matched({ since: '2026-03-02T00:00:00Z' })).toBe(2);
    expect(await matched({ since: '2026-03-02T00:00:00Z', until: '2026-03-03T00:00:00Z' })).toBe(1);
    expect(await matched({ type: 'invoice_voided' })).toBe(1);
    expect(await matched({ invoiceId: invoiceId.toUpperCase() })).toBe(1);
    expect(await matched({ tenantId: 'ACME' })).toBe(1);
    expect(await matched({ tenantId: '22222222-2222-2222-2222-222222222222' })).toBe(2);
  });
});

describe('requeueDelivery', () => {
  async function refused(): Promise<Parts & { eventId: string; quarantineId: string }> {
    const parts = await openParts();
    const { eventId, body } = aDelivery();
    await createReceiver({ ...parts, partnerIds: () => ['another'] }).receive(Buffer.from(body));
    const [thing] = await parts.quarantine.list();
    return { ...parts, eventId, quarantineId: thing?.quarantineId ?? '' };
  }

  test('records who discarded it', async () => {
    const { archive, quarantine, quarantineId } = await refused();
    const discard = (): Promise<boolean> =>
      discardQuarantined(quarantineId, { archive, quarantine, note: 'rubbish' });
    expect(await discard()).toBe(true);
    expect(await discard()).toBe(false);
    expect(await Array.fromAsync(archive.facts())).toMatchObject([
      { kind: 'discard', quarantineId, note: 'rubbish' },
    ]);
    expect(await quarantine.list()).toEqual([]);
  });
});
