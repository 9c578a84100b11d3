/** The short form of `npm run chaos -- events-in-any-order` and `dropped-events`: what is told badly ends as it was billed. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.js';
import { createRandom } from '../support/foreign-service/foreign-story.js';
import { addTo, differences, exact, type Sum } from '../support/invariants/exact-sums.js';
import { aRig, type Rig } from './rig.js';

let rig: Rig;
beforeEach(async () => {
  rig = await aRig();
});
afterEach(() => rig.close());

describe('worker', () => {
  test('equals the books although events come one to five times, shuffled, at once, or not at all', async () => {
    await rig.startTemporal();
    const worker = await rig.startWorker();
    const random = createRandom(1);
    const voided: string[] = [];
    const neverSent = new Set<string>();
    for (let i = 0; i < 10; i += 1) {
      const { invoiceId } = await rig.service.createInvoice({ rows: 2 + i });
      await rig.service.finalize(invoiceId);
      const finalized = rig.service.events.at(-1) ?? '';
      if (i % 3 === 0) {
        await rig.service.void(invoiceId);
        voided.push(invoiceId);
      } else if (i % 3 === 1) neverSent.add(finalized);
    }
    const deliveries = rig.service.events
      .filter((text) => !neverSent.has(text))
      .flatMap((text) => Array<string>(1 + Math.floor(random() * 5)).fill(text))
      .map((text) => ({ text, at: random() }))
      .sort((a, b) => a.at - b.at);
    const atOnce = deliveries.splice(0, Math.round(deliveries.length * 0.3));
    await Promise.all(atOnce.map(({ text }) => rig.give(text)));
    for (const { text } of deliveries) await rig.give(text);

    const billed = new Map<string, Sum>();
    for (const { invoiceId, billingCost } of rig.service.billedRows()) addTo(billed, invoiceId, billingCost);
    const wrong = async (): Promise<readonly string[]> => {
      const invoices = await worker.warehouse.invoices();
      const found = new Map<string, Sum>();
      for (const { state, invoiceId, shipments, billingCost } of invoices) {
        if (state !== 'loaded') continue;
        found.set(invoiceId, { rows: shipments ?? 0, tenThousandths: exact(billingCost ?? '0') });
      }
      return differences(billed, found);
    };
    await eventually(async () => (await wrong()).length === 0, { within: 60_000, every: 200 });
    expect(
      (await worker.warehouse.invoices({ states: ['voided'] })).map(({ invoiceId }) => invoiceId).sort(),
    ).toEqual(voided.sort());
    expect(rig.service.complaints).toEqual([]);
  }, 90_000);
});
