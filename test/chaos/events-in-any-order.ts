/** 500 events, each sent one to five times, shuffled, three in ten of them at once: the result equals the service's data. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ForeignService } from '../support/foreign-service.ts';
import type { Truth } from '../support/invariants.ts';
import { createRandom, type Random } from '../support/random.ts';
import { deliver } from '../webhook/a-delivery.ts';
import { describeVerdict, expectNone, runUndisturbed } from './rig.ts';

export const summary =
  '500 events sent 1 to 5 times, shuffled, 30 % at once (events-in-any-order [events] [seed])';

/** Four hundred events of two hundred invoices, and a hundred voids. */
const EVENTS_PER_INVOICE = 2.5;
const BURST_SHARE = 0.3;
const SENDERS = 8;

export async function main([events = '500', seed = '1']: readonly string[]): Promise<void> {
  const invoices = Math.round(Number(events) / EVENTS_PER_INVOICE);
  const random = createRandom(Number(seed));
  const count = { events: 0, deliveries: 0, accepted: 0, duplicate: 0 };
  const result = await runUndisturbed({
    // So long that only the events can bring an invoice.
    overdueAfter: '1h',
    async sendEvents({ service, product: { webhookUrl }, acknowledged }) {
      const voided = await playInvoices(service, invoices);
      const ids = new Set<string>();
      const send = async (text: string): Promise<void> => {
        const { statusCode, body } = await deliver(webhookUrl, text);
        if (statusCode !== 200) throw new Error(`A delivery was answered ${statusCode}.`);
        count[body.status === 'duplicate' ? 'duplicate' : 'accepted'] += 1;
        ids.add((JSON.parse(text) as { metadata: { eventId: string } }).metadata.eventId);
      };
      const copies = service.events.flatMap((text) => Array<string>(random.between(1, 5)).fill(text));
      const shuffled = shuffle(copies, random);
      count.events = service.events.length;
      count.deliveries = shuffled.length;
      const burst = shuffled.splice(0, Math.round(shuffled.length * BURST_SHARE));
      const sender = async (): Promise<void> => {
        for (let text = shuffled.pop(); text !== undefined; text = shuffled.pop()) {
          await send(text);
          await sleep(random.next() * 10);
        }
      };
      await Promise.all([...burst.map(send), ...Array.from({ length: SENDERS }, sender)]);
      acknowledged.push(...ids);
      return (): Truth => ({ billed: service.billedRows(), voided, acknowledged });
    },
  });
  console.log(
    `${count.events} events in ${count.deliveries} deliveries (${count.accepted} accepted, ${count.duplicate} duplicates), ${invoices} invoices; settled ${result.secondsToSettle} s after the last; ${result.violations.length} violations`,
  );
  expectNone(describeVerdict(result));
}

/** Everything happens at the service before the first event is sent. @returns ids of the voided invoices */
async function playInvoices(service: ForeignService, invoices: number): Promise<readonly string[]> {
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

function shuffle<T>(values: readonly T[], random: Random): T[] {
  return values
    .map((value) => ({ value, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
