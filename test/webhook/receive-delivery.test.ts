import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startForwarder } from '../../webhook/forwarder.ts';
import { openQuarantine, reportDropped } from '../../webhook/inbox/quarantine.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { aDelivery, drained, openParts } from './a-delivery.ts';

describe('receiver', () => {
  test('accepts an event from the future and reports the clock difference', async () => {
    const parts = await openParts();
    const eventTimestamp = new Date(Date.now() + 2 * 3_600_000).toISOString();
    const { eventId, body } = aDelivery({ metadata: { eventTimestamp } });
    expect(await createReceiver(parts).receive(Buffer.from(body))).toMatchObject({ status: 'accepted' });
    expect(await parts.inbox.has({ kind: 'event', eventId })).toBe('pending');
    expect(parts.logged.join('')).toMatch(/"aheadSeconds":7(199|200)\b.*clock/);
  });

  test('accepts an event with ids and type only and logs what is missing', async () => {
    const parts = await openParts();
    const { eventId, invoiceId } = aDelivery();
    const body = JSON.stringify({
      metadata: { eventId, eventType: 'invoice_voided' },
      payload: { acmeInvoiceId: invoiceId },
    });
    expect(await createReceiver(parts).receive(Buffer.from(body))).toMatchObject({
      statusCode: 200,
      status: 'accepted',
      eventId,
    });
    expect(parts.logged.join('')).toContain('payload.invoiceDueDate');
    expect(await parts.inbox.pending()).toMatchObject([{ eventId, invoiceId }]);
  });

  test('accepts an event with contradicting totals and raises an alert', async () => {
    const parts = await openParts();
    const { alerts, raised } = memoryAlerts();
    const { eventId, invoiceId, body } = aDelivery();
    const twice = body.replace('"invoiceTotalAmount":', '"invoiceTotalAmount":1,"invoiceTotalAmount":');
    const answer = await createReceiver({ ...parts, alerts }).receive(Buffer.from(twice));
    expect(answer).toMatchObject({ statusCode: 200, status: 'accepted', eventId });
    expect(raised).toMatchObject([
      { key: 'delivery-contradicts-itself', detail: expect.stringContaining('payload.invoiceTotalAmount') },
    ]);
    expect(raised[0]?.detail).toContain(invoiceId);
    // Forwarded like any other, and kept with both values.
    const sent: string[] = [];
    const forwarder = startForwarder({ ...parts, send: async (event) => void sent.push(event.eventId) });
    await drained(parts);
    await forwarder.close();
    expect(sent).toEqual([eventId]);
    const kept = (await parts.archive.event(eventId))?.envelope;
    expect(kept).toContain('"invoiceTotalAmount":{"contradictoryValues":[1,12.34]}');
  });
});

describe('a refusal', () => {
  test.each([
    [
      'invalid-metadata',
      { metadata: { eventType: undefined }, payload: { invoiceStatus: 'x' } },
      'eventType',
    ],
    ['unknown-event-type', { metadata: { eventType: 'invoice_paid' } }, 'invoice_paid'],
    ['unknown-schema-version', { metadata: { payloadSchemaVersion: 'v7' } }, 'v7'],
  ])(
    'of kind %s raises an alert with the problem, and is recorded on the invoice',
    async (code, over, what) => {
      const parts = await openParts();
      const { alerts, raised } = memoryAlerts();
      const receiver = createReceiver({ ...parts, alerts });
      const { body, invoiceId } = aDelivery(over);
      await receiver.receive(Buffer.from(body));
      await receiver.settle();
      expect(raised).toMatchObject([{ key: `quarantine/${code}`, detail: expect.stringContaining(what) }]);
      expect(raised[0]?.detail).toContain(invoiceId);
      expect(await Array.fromAsync(parts.archive.facts())).toMatchObject([
        { kind: 'attention', invoiceId, code: 'delivery-refused' },
      ]);
      expect((await parts.quarantine.list())[0]).toMatchObject({ code, invoiceId });
    },
  );

  test('is reported when a full quarantine drops it', async () => {
    const parts = await openParts();
    const { alerts, raised } = memoryAlerts();
    const quarantine = await openQuarantine(join(parts.settings.dataDir, 'small'), {
      maxItems: 1,
      onDropped: reportDropped({ log: parts.log, alerts }),
    });
    const receiver = createReceiver({ ...parts, quarantine });
    await receiver.receive(Buffer.from('{"metadata":'));
    expect(raised).toEqual([]);
    await receiver.receive(Buffer.from('{"payload":'));
    await receiver.settle();
    expect(raised).toMatchObject([{ key: 'quarantine/full', detail: expect.stringContaining('not-json') }]);
    expect(parts.logged.join('')).toContain('dropped from a full quarantine');
  });

  test('of another partner does not list its invoice', async () => {
    const parts = await openParts();
    const { alerts, raised } = memoryAlerts();
    const receiver = createReceiver({ ...parts, alerts });
    const partnerId = '99999999-9999-9999-9999-999999999999';
    await receiver.receive(Buffer.from(aDelivery({ metadata: { partnerId } }).body));
    await receiver.settle();
    expect(raised).toMatchObject([{ key: 'quarantine/foreign-partner' }]);
    expect(await Array.fromAsync(parts.archive.facts())).toEqual([]);
  });

  test('is reported by its own kind when it is forwarded', async () => {
    const parts = await openParts();
    const { alerts, raised } = memoryAlerts();
    const { eventId, invoiceId, body } = aDelivery({ metadata: { eventType: 'invoice_paid' } });
    // The inbox calls it an event; what it is read as now decides.
    const entry = {
      kind: 'event',
      eventId,
      invoiceId,
      receivedAt: new Date().toISOString(),
      code: null,
    } as const;
    await parts.inbox.accept(entry, Buffer.from(body));
    const forwarder = startForwarder({ ...parts, alerts, send: () => Promise.resolve() });
    await drained(parts);
    await forwarder.close();
    expect(raised).toMatchObject([
      { key: 'quarantine/unknown-event-type', detail: expect.stringContaining('invoice_paid') },
    ]);
  });
});
