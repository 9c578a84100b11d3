/** 500 events, each sent one to five times, shuffled, three in ten of them at once: equal to the service's books. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ForeignService } from '../support/foreign-service.ts';
import { createRandom } from '../support/foreign-story.ts';
import type { Truth } from '../support/invariants.ts';
import { deliver } from '../webhook/a-delivery.ts';
import { demandSound, playQuietly } from './quiet-story.ts';

export const summary =
  '500 events sent 1 to 5 times, shuffled, 30 % at once (events-in-any-order [events] [seed])';

/** A hundred voids to four hundred events of two hundred invoices. */
const EVENTS_PER_INVOICE = 2.5;
const AT_ONCE = 0.3;
const SENDERS = 8;

export async function main([events = '500', seed = '1']: readonly string[]): Promise<void> {
  const invoices = Math.round(Number(events) / EVENTS_PER_INVOICE);
  const random = createRandom(Number(seed));
  const count = { events: 0, deliveries: 0, accepted: 0, duplicate: 0 };
  const result = await playQuietly({
    // So long that nothing but the events can have brought an invoice.
    settings: { BILLSYNC_OVERDUE_AFTER: '1h' },
    settledWithinMs: 300_000,
    async tell(service, webhookUrl) {
      const voided = await live(service, invoices);
      const acknowledged = new Set<string>();
      const send = async (text: string): Promise<void> => {
        const { statusCode, body } = await deliver(webhookUrl, text);
        if (statusCode !== 200) throw new Error(`A delivery was answered ${statusCode}.`);
        count[body.status === 'duplicate' ? 'duplicate' : 'accepted'] += 1;
        acknowledged.add((JSON.parse(text) as { metadata: { eventId: string } }).metadata.eventId);
      };
      const copies = service.events.flatMap((text) => Array<string>(1 + Math.floor(random() * 5)).fill(text));
      const shuffled = shuffle(copies, random);
      count.events = service.events.length;
      count.deliveries = shuffled.length;
      const burst = shuffled.splice(0, Math.round(shuffled.length * AT_ONCE));
      const sender = async (): Promise<void> => {
        for (let text = shuffled.pop(); text !== undefined; text = shuffled.pop()) {
          await send(text);
          await sleep(random() * 10);
        }
      };
      await Promise.all([...burst.map(send), ...Array.from({ length: SENDERS }, sender)]);
      return (): Truth => ({ billed: service.billedRows(), voided, acknowledged: [...acknowledged] });
    },
  });
  console.log(
    `${count.events} events in ${count.deliveries} deliveries (${count.accepted} accepted, ${count.duplicate} duplicates), ${invoices} invoices; settled ${result.secondsToSettle} s after the last; ${result.violations.length} violations`,
  );
  demandSound(result);
}

/** All that happens at the service, before anything is told of it. @returns who was voided */
async function live(service: ForeignService, invoices: number): Promise<readonly string[]> {
  const voided: string[] = [];
  for (let i = 0; i < invoices; i += 1) {
    const { invoiceId } = await service.createInvoice({
      rows: 3 + (i % 5),
      currencyCode: i % 3 === 0 ? 'EUR' : 'USD',
    });
    await service.finalize(invoiceId);
    if (i % 2 === 0) {
      await service.void(invoiceId);
      voided.push(invoiceId);
    }
  }
  return voided;
}

function shuffle<T>(things: readonly T[], random: () => number): T[] {
  return things
    .map((thing) => ({ thing, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ thing }) => thing);
}
