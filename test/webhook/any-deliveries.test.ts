/** Any deliveries in any order, with repeats, failures and restarts: what is answered is kept, and forwarded once it can be. */

import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ArchivedEvent } from '../../archive/archive.ts';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { startForwarder } from '../../webhook/forwarder.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { requeueDelivery } from '../../webhook/requeue.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { aDelivery, drained, openParts, PARTNER } from './a-delivery.ts';

const FOREIGN = '99999999-9999-9999-9999-999999999999';
const uuid = (n: number): string => `${`${n}`.padStart(8, '0')}-0000-4000-8000-000000000000`;

type Kind = 'event' | 'void' | 'test' | 'foreign' | 'unknown type' | 'unusable';
interface Delivery {
  readonly kind: Kind;
  readonly id: number;
  readonly total: number;
}
type Act =
  | { readonly kind: 'deliver'; readonly delivery: Delivery }
  | { readonly kind: 'restart' | 'away' | 'back' | 'archive fails' };

const delivery: fc.Arbitrary<Delivery> = fc.record({
  kind: fc.constantFrom('event', 'event', 'event', 'void', 'test', 'foreign', 'unknown type', 'unusable'),
  ...{ id: fc.nat({ max: 2 }), total: fc.nat({ max: 1 }) },
});
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('deliver' as const), delivery }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom('restart', 'away', 'back', 'archive fails') }),
    },
  ),
  { minLength: 1, maxLength: 14 },
);

/** Ids of refused deliveries are of their own: the repeat of a refused one is answered as a duplicate. */
const OFFSET: Readonly<Record<Kind, number>> = {
  ...{ event: 0, void: 0, test: 0, foreign: 10, 'unknown type': 20, unusable: 30 },
};

function bodyOf({ kind, id, total }: Delivery): { readonly eventId: string; readonly body: string } {
  const metadata = {
    eventId: uuid(id + OFFSET[kind]),
    eventType:
      { void: 'invoice_voided', 'unknown type': 'invoice_paid' }[kind as 'void'] ?? 'invoice_finalized',
    partnerId: kind === 'foreign' ? FOREIGN : PARTNER,
    testEvent: kind === 'test',
  };
  const payload = {
    serviceInvoiceId: kind === 'unusable' ? 'none' : uuid(100 + id),
    invoiceTotalAmount: total,
    // A sender may renew these with each attempt.
    presignedUrl: `https://storage.example/f.csv?X-Amz-Signature=presigned-secret-${Math.random()}`,
  };
  return aDelivery({ metadata, payload });
}

async function play(drawn: readonly Act[]): Promise<void> {
  const parts = await openParts();
  const { alerts, raised } = memoryAlerts();
  const sent: InvoiceEvent[] = [];
  const steps: string[] = [];
  const world = { isAway: false, archiveFails: 0 };
  const archive = {
    ...parts.archive,
    async putEvent(event: ArchivedEvent) {
      if (world.archiveFails > 0) {
        world.archiveFails -= 1;
        throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      }
      const stored = await parts.archive.putEvent(event);
      await new Promise((wake) => setTimeout(wake, 2));
      steps.push(`archive ${event.eventId}`);
      return stored;
    },
  };
  const send = async (event: InvoiceEvent): Promise<void> => {
    if (world.isAway) throw new Error('unavailable');
    steps.push(`send ${event.eventId}`);
    sent.push(event);
  };
  const open = async () => {
    const inbox = await openInbox(join(parts.settings.dataDir, 'inbox'));
    const deps = { ...parts, inbox, archive, alerts };
    const timing = { pollMs: 5, firstBackoffMs: 5 };
    return { receiver: createReceiver(deps), forwarder: startForwarder({ ...deps, send, timing }) };
  };
  let endpoint = await open();
  const close = async () => {
    await endpoint.forwarder.close();
    await endpoint.receiver.settle();
  };
  /** By the id of an event, the contents received. */
  const contents = new Map<string, string[]>();
  const refused = new Set<string>();
  const answerTo = ({ kind, total }: Delivery, eventId: string): readonly [number, string] => {
    if (kind === 'unusable') return [400, 'rejected'];
    if (kind === 'test') return [200, 'ignored'];
    if (kind === 'foreign' || kind === 'unknown type') {
      const isNew = !refused.has(eventId);
      refused.add(eventId);
      return isNew ? [202, 'quarantined'] : [200, 'duplicate'];
    }
    const [known, content] = [contents.get(eventId) ?? [], `${kind} ${total}`];
    contents.set(eventId, [...new Set([...known, content])]);
    return [200, known.includes(content) ? 'duplicate' : 'accepted'];
  };
  const deliver = async (each: Delivery): Promise<void> => {
    const { eventId, body } = bodyOf(each);
    const { statusCode, status } = await endpoint.receiver.receive(Buffer.from(body));
    expect([statusCode, status]).toEqual(answerTo(each, eventId));
  };
  const deliveries = drawn.flatMap((act) => (act.kind === 'deliver' ? [act.delivery] : []));
  for (const act of drawn) {
    if (act.kind === 'deliver') await deliver(act.delivery);
    if (act.kind === 'away' || act.kind === 'back') world.isAway = act.kind === 'away';
    if (act.kind === 'archive fails') world.archiveFails = 2;
    if (act.kind === 'restart') {
      await close();
      endpoint = await open();
    }
  }
  world.isAway = false;
  await drained(parts);
  for (const each of deliveries) await deliver(each);
  await drained(parts);

  const events = await Array.fromAsync(parts.archive.events(), ({ event }) => event);
  const verdicts = (verdict: string) => events.filter((event) => event.verdict === verdict);
  const expected = [...contents].flatMap(([eventId, of]) => of.map((content) => ({ eventId, content })));
  expect(new Set(sent.map(({ eventId }) => eventId)).size).toBe(expected.length);
  expect(
    verdicts('accepted')
      .map(({ eventId }) => eventId)
      .sort(),
  ).toEqual([...new Set(sent.map(({ eventId }) => eventId))].sort());
  for (const { eventId, content } of expected) {
    const isOfContent = ({ eventType, invoice }: InvoiceEvent): boolean =>
      content === `${eventType === 'invoice_voided' ? 'void' : 'event'} ${invoice.invoiceTotalAmount}` &&
      invoice.invoiceId === uuid(100 + Number(eventId.slice(0, 8)));
    const found = sent.find(isOfContent);
    expect(found).toBeDefined();
    // Only the first of an id has its URL; the file of another one is requested from the service.
    if (found?.eventType === 'invoice_finalized')
      expect(found.export === null).toBe(found.eventId !== eventId);
  }
  const repeated = [...contents.values()].some((of) => of.length > 1);
  expect(raised.some(({ key }) => key === 'event-id-repeated')).toBe(repeated);
  for (const event of sent)
    expect(steps.indexOf(`archive ${event.eventId}`)).toBeLessThan(steps.indexOf(`send ${event.eventId}`));
  // The archive has one record of an id, and a real event outranks a test event.
  const tested = deliveries.filter(({ kind, id }) => kind === 'test' && !contents.has(uuid(id)));
  expect(verdicts('test')).toHaveLength(new Set(tested.map(({ id }) => id)).size);
  const unusable = deliveries.filter(({ kind }) => kind === 'unusable').length;
  const quarantined = await parts.quarantine.list();
  expect(new Set(quarantined.map(({ eventId }) => eventId)).size).toBeGreaterThanOrEqual(refused.size);
  expect(quarantined.length).toBeGreaterThanOrEqual(refused.size + Math.min(1, unusable));
  expect(JSON.stringify([events, quarantined])).not.toContain('presigned-secret');

  // A refused delivery that is ours after all is processed like any other.
  await close();
  const before = sent.length;
  const foreign = quarantined.filter(({ code }) => code === 'foreign-partner');
  for (const { quarantineId } of foreign) {
    const deps = { ...parts, partnerIds: () => [PARTNER, FOREIGN] };
    expect(await requeueDelivery(quarantineId, parts)).toMatchObject({ outcome: 'still-refused' });
    for (const dryRun of [true, false])
      expect(await requeueDelivery(quarantineId, { ...deps, dryRun })).toMatchObject({ outcome: 'requeued' });
  }
  const ours = startForwarder({ ...parts, archive, send, partnerIds: () => [PARTNER, FOREIGN] });
  await drained(parts);
  await ours.close();
  expect(sent.length - before).toBe(foreign.length);
  expect((await parts.quarantine.list()).length).toBe(quarantined.length - foreign.length);
}

test('any deliveries are answered, kept, archived and forwarded as they should, through failures and restarts', async () => {
  await fc.assert(fc.asyncProperty(acts, play), { numRuns: 30 });
});

test('a requeued event is the same as a delivered one: its repeat is a duplicate, another of its id is kept', async () => {
  const parts = await openParts();
  const theirs = createReceiver({ ...parts, partnerIds: () => [FOREIGN] });
  const [one, other] = [0, 1].map((total) => bodyOf({ kind: 'event', id: 1, total }).body);
  for (const body of [one, other]) await theirs.receive(Buffer.from(body ?? ''));
  const [refused] = await parts.quarantine.list();
  expect(await requeueDelivery('d-0000000000000000', parts)).toEqual({ outcome: 'not-found' });
  expect(await requeueDelivery(refused?.quarantineId ?? '', parts)).toMatchObject({ outcome: 'requeued' });
  const ours = createReceiver(parts);
  expect(await ours.receive(Buffer.from(one ?? ''))).toMatchObject({ status: 'duplicate' });
  expect(await ours.receive(Buffer.from(other ?? ''))).toMatchObject({ status: 'accepted' });
});
