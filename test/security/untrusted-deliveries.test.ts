/** What a holder of the endpoint's password, or a service that makes mistakes, can send: nothing is lost, and nothing counts on its word. */

import { describe, expect, test } from 'vitest';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { startForwarder } from '../../webhook/forwarder.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { aDelivery, drained, openParts } from '../webhook/a-delivery.ts';

type Parts = Awaited<ReturnType<typeof openParts>>;

async function forward(parts: Parts, over: Partial<Parameters<typeof startForwarder>[0]> = {}) {
  const sent: InvoiceEvent[] = [];
  const forwarder = startForwarder({ ...parts, send: async (event) => void sent.push(event), ...over });
  await drained(parts);
  await forwarder.close();
  return sent;
}

const EVENT_ID = 'e0000000-0000-4000-8000-000000000001';

describe.each(['at once', 'after the first was forwarded'])(
  'one event id for two contents, sent %s',
  (when) => {
    test('keeps both, asks the service for the file of the second, and raises an alert', async () => {
      const parts = await openParts();
      const { alerts, raised } = memoryAlerts();
      const receiver = createReceiver({ ...parts, alerts });
      const first = aDelivery({ metadata: { eventId: EVENT_ID } });
      const second = aDelivery({
        metadata: { eventId: EVENT_ID },
        payload: { fileHashSha256: 'b'.repeat(64) },
      });
      const receive = async ({ body }: { readonly body: string }) =>
        (await receiver.receive(Buffer.from(body))).status;
      expect(await receive(first)).toBe('accepted');
      const sent = when === 'at once' ? [] : await forward(parts);
      expect([await receive(second), await receive(second), await receive(first)]).toEqual([
        'accepted',
        'duplicate',
        'duplicate',
      ]);
      sent.push(...(await forward(parts)));
      expect(sent.map(({ invoice }) => invoice.invoiceId)).toEqual([first.invoiceId, second.invoiceId]);
      const [one, other] = sent;
      expect([one?.eventId, one?.export?.fileHashSha256]).toEqual([EVENT_ID, 'a'.repeat(64)]);
      expect(other?.export).toBeNull();
      expect(await parts.archive.event(other?.eventId ?? '')).toMatchObject({
        ...{ verdict: 'accepted', event: { invoice: { invoiceId: second.invoiceId }, export: null } },
        envelope: expect.stringContaining('b'.repeat(64)),
      });
      expect(raised.map(({ key }) => key)).toEqual(['event-id-repeated']);
      await receiver.settle();
    });
  },
);

test('a retry with a renewed URL, expiry and timestamp is a duplicate', async () => {
  const parts = await openParts();
  const receiver = createReceiver(parts);
  const { body } = aDelivery({ metadata: { eventId: EVENT_ID } });
  const renewed = body
    .replace('presigned-secret', 'another-secret')
    .replace('2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z')
    .replace('2026-03-01T00:00:00Z', '2026-03-01T00:05:00Z');
  const receive = async (text: string) => (await receiver.receive(Buffer.from(text))).status;
  expect([await receive(body), await receive(renewed)]).toEqual(['accepted', 'duplicate']);
  await forward(parts);
  expect(await receive(renewed)).toBe('duplicate');
  await receiver.settle();
});

test('an event that is forwarded before our partner is known is marked as unchecked, and the alert ends', async () => {
  const parts = await openParts();
  const { alerts, raised, resolved } = memoryAlerts();
  const timing = { partnerGraceMs: 0, pollMs: 10 };
  const { eventId, body } = aDelivery();
  await createReceiver(parts).receive(Buffer.from(body));
  await forward(parts, { partnerIds: () => [], alerts, timing });
  expect(await parts.archive.event(eventId)).toMatchObject({ isUnchecked: true });
  expect(raised.map(({ key }) => key)).toEqual(['forwarder/partner-unknown']);
  // Another process knows it from its start.
  await forward(parts, { alerts, timing });
  expect(resolved).toContain('forwarder/partner-unknown');
});
