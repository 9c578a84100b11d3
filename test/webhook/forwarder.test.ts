import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { ArchivedEvent } from '../../archive/archive.ts';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { type Forwarder, type ForwarderDeps, startForwarder } from '../../webhook/forwarder.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { eventually } from '../support/eventually.ts';
import { aDelivery, drained, openParts, type Parts } from './a-delivery.ts';

const open: Forwarder[] = [];
const TIMING = { pollMs: 20, firstBackoffMs: 20 };

afterEach(() => Promise.all(open.splice(0).map((forwarder) => forwarder.close())));

function start(parts: Parts, over: Partial<ForwarderDeps> = {}): { sent: InvoiceEvent[] } {
  const sent: InvoiceEvent[] = [];
  const send = async (event: InvoiceEvent): Promise<void> => void sent.push(event);
  open.push(startForwarder({ ...parts, send, timing: TIMING, ...over }));
  return { sent };
}

async function receive(parts: Parts, ...bodies: string[]): Promise<void> {
  const receiver = createReceiver(parts);
  for (const body of bodies) await receiver.receive(Buffer.from(body));
}

const archived = ({ archive }: Parts): Promise<ArchivedEvent[]> =>
  Array.fromAsync(archive.events(), ({ event }) => event);

describe('forwarder', () => {
  test('processes events in order of arrival, including those of earlier processes', async () => {
    const parts = await openParts();
    const invoiceId = 'aaaaaaaa-0000-0000-0000-000000000001';
    const deliveries = Array.from({ length: 10 }, () =>
      aDelivery({ payload: { serviceInvoiceId: invoiceId } }),
    );
    await receive(parts, ...deliveries.slice(0, 5).map(({ body }) => body));
    const { sent } = start(parts);
    const elsewhere = { ...parts, inbox: await openInbox(join(parts.settings.dataDir, 'inbox')) };
    await receive(elsewhere, ...deliveries.slice(5).map(({ body }) => body));
    await eventually(() => sent.length === 10);
    expect(sent.map((event) => event.eventId)).toEqual(deliveries.map(({ eventId }) => eventId));
    await drained(parts);
  });

  test('waits while Temporal is unreachable, reports the backlog, and sends all afterwards', async () => {
    const parts = await openParts();
    await receive(parts, ...Array.from({ length: 40 }, () => aDelivery().body));
    let isAway = true;
    const sent = new Set<string>();
    start(parts, {
      send: async (event) => {
        if (isAway) throw new Error('unavailable');
        sent.add(event.eventId);
      },
    });
    await eventually(() => !parts.health.report().isReady);
    expect(await parts.metrics.text()).toMatch(/billsync_inbox_backlog\{role="webhook"\} 40/);
    expect(await archived(parts)).not.toHaveLength(0);
    isAway = false;
    await drained(parts);
    expect(sent.size).toBe(40);
    expect(parts.health.report().isReady).toBe(true);
  });

  test('retries a hung call after its deadline', async () => {
    const parts = await openParts();
    await receive(parts, aDelivery().body);
    let calls = 0;
    start(parts, {
      sendDeadlineMs: 200,
      send: () => {
        calls += 1;
        return calls < 3 ? new Promise<never>(() => undefined) : Promise.resolve();
      },
    });
    await drained(parts);
    expect(calls).toBe(3);
  });

  test('does not block other entries with an unreadable one', async () => {
    const parts = await openParts();
    const [damaged, poison, good] = [aDelivery(), aDelivery(), aDelivery()];
    await receive(parts, damaged.body, poison.body, good.body);
    await truncate(join(parts.settings.dataDir, 'inbox/pending', damaged.eventId), 20);
    const sent: string[] = [];
    start(parts, {
      send: async (event) => {
        if (event.eventId === poison.eventId) throw new Error('poison');
        sent.push(event.eventId);
      },
    });
    await eventually(() => sent.includes(good.eventId));
    await eventually(async () => (await parts.inbox.pending()).length === 1);
    expect(sent).toEqual([good.eventId]);
    expect(await parts.quarantine.list()).toMatchObject([{ eventId: damaged.eventId, kind: 'delivery' }]);
  });

  test('does not block other events with an unknown partner', async () => {
    const parts = await openParts();
    await receive(parts, aDelivery().body);
    const { sent } = start(parts, {
      partnerIds: () => [],
      timing: { ...TIMING, partnerGraceMs: 150 },
    });
    await drained(parts);
    expect(sent).toHaveLength(1);
    expect(parts.logged.join('')).toContain('without checking');
  });
});
