/** What the door notices besides what it answers. */

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Alert } from '../../lib/alerts/alert-store.ts';
import type { Alerts } from '../../lib/alerts/alerts.ts';
import { startForwarder } from '../../webhook/forwarder.ts';
import { openQuarantine, reportDropped } from '../../webhook/inbox/quarantine.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { aDelivery, openParts } from './a-delivery.ts';

describe('receiver', () => {
  test('an event from the future is taken, and the clocks are told of', async () => {
    const parts = await openParts();
    const eventTimestamp = new Date(Date.now() + 2 * 3_600_000).toISOString();
    const { eventId, body } = aDelivery({ metadata: { eventTimestamp } });
    expect(await createReceiver(parts).receive(Buffer.from(body))).toMatchObject({ status: 'accepted' });
    expect(await parts.inbox.has({ kind: 'event', eventId })).toBe('pending');
    expect(parts.logged.join('')).toMatch(/"aheadSeconds":7(199|200)\b.*clock/);
  });

  test('an event of long ago is nothing to tell: it may be sent again at any time', async () => {
    const parts = await openParts();
    const { body } = aDelivery({ metadata: { eventTimestamp: '2026-03-01T00:00:00Z' } });
    await createReceiver(parts).receive(Buffer.from(body));
    expect(parts.logged.join('')).not.toContain('aheadSeconds');
  });

  test('an event without everything but its ids and type is accepted, and what it lacks is logged', async () => {
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

  test('an event that says its total twice, differently, is accepted, and somebody is told', async () => {
    const parts = await openParts();
    const { alerts, raised } = listening();
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
    expect(await forwarder.drain()).toBe(true);
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
    'of kind %s is an alert that names what was wrong, and stands on the invoice',
    async (code, over, what) => {
      const parts = await openParts();
      const { alerts, raised } = listening();
      const receiver = createReceiver({ ...parts, alerts });
      const { body, invoiceId } = aDelivery(over);
      await receiver.receive(Buffer.from(body));
      await receiver.settle();
      expect(raised).toMatchObject([{ key: `quarantine/${code}`, detail: expect.stringContaining(what) }]);
      expect(raised[0]?.detail).toContain(invoiceId);
      expect(await factsOf(parts)).toMatchObject([
        { kind: 'attention', invoiceId, code: 'delivery-refused' },
      ]);
      expect((await parts.quarantine.list())[0]).toMatchObject({ code, invoiceId });
    },
  );

  test('that a full quarantine drops is told', async () => {
    const parts = await openParts();
    const { alerts, raised } = listening();
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

  test('without an invoice is an alert all the same', async () => {
    const parts = await openParts();
    const { alerts, raised } = listening();
    const receiver = createReceiver({ ...parts, alerts });
    await receiver.receive(Buffer.from('{"metadata":'));
    await receiver.receive(Buffer.from(aDelivery({ payload: { serviceInvoiceId: 'x' } }).body));
    await receiver.settle();
    expect(raised.map(({ key }) => key)).toEqual(['quarantine/not-json', 'quarantine/invalid-payload']);
    expect(raised[1]?.detail).toContain('payload.invoiceId: expected a UUID');
    expect(await factsOf(parts)).toEqual([]);
  });

  test('of another partner does not put its invoice into our list', async () => {
    const parts = await openParts();
    const { alerts, raised } = listening();
    const receiver = createReceiver({ ...parts, alerts });
    const partnerId = '99999999-9999-9999-9999-999999999999';
    await receiver.receive(Buffer.from(aDelivery({ metadata: { partnerId } }).body));
    await receiver.settle();
    expect(raised).toMatchObject([{ key: 'quarantine/foreign-partner' }]);
    expect(await factsOf(parts)).toEqual([]);
  });

  test('when it is forwarded is told by its own kind', async () => {
    const parts = await openParts();
    const { alerts, raised } = listening();
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
    expect(await forwarder.drain()).toBe(true);
    await forwarder.close();
    expect(raised).toMatchObject([
      { key: 'quarantine/unknown-event-type', detail: expect.stringContaining('invoice_paid') },
    ]);
  });
});

function listening(): { alerts: Alerts; raised: Alert[] } {
  const raised: Alert[] = [];
  const alerts: Alerts = {
    raise: (alert) => void raised.push(alert),
    resolve: () => undefined,
    close: () => Promise.resolve(),
  };
  return { alerts, raised };
}

async function factsOf({ archive }: Awaited<ReturnType<typeof openParts>>): Promise<unknown[]> {
  const facts: unknown[] = [];
  for await (const fact of archive.facts()) facts.push(fact);
  return facts;
}
