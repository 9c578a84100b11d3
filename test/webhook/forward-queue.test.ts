import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createForwardQueue } from '../../webhook/forward-queue.ts';
import type { InboxEntry } from '../../webhook/inbox/inbox.ts';

let count = 0;
function anEntry(invoiceId: string | null, kind: InboxEntry['kind'] = 'event'): InboxEntry {
  count += 1;
  return { kind, eventId: `e${count}`, receivedAt: new Date(count).toISOString(), invoiceId, code: null };
}

describe('forward queue', () => {
  test('processes the events of one invoice in sequence, of others in parallel', () => {
    const queue = createForwardQueue();
    const [a1, a2, b1] = [anEntry('a'), anEntry('A'), anEntry('b')];
    for (const entry of [a1, a2, b1, a1]) queue.add(entry);
    expect([queue.take(0), queue.take(0), queue.take(0)]).toEqual([a1, b1, null]);
    queue.done(a1);
    expect(queue.take(0)).toEqual(a2);
    expect(queue.oldestReceivedAt()).toBe(a2.receivedAt);
  });

  test('takes a void before other events of its invoice', () => {
    const queue = createForwardQueue();
    const [a1, a2] = [anEntry('a'), anEntry('a')];
    const [void1, void2] = [anEntry('a'), anEntry('a')].map((entry) => ({ ...entry, isVoid: true }));
    if (void1 === undefined || void2 === undefined) throw new Error('no voids');
    for (const entry of [a1, a2, void1]) queue.add(entry);
    expect(queue.take(0)).toEqual(void1);
    queue.add(void2);
    const order = [void1, void2, a1, a2];
    for (const [index, entry] of order.entries()) {
      queue.done(entry);
      expect(queue.take(0)).toEqual(order[index + 1] ?? null);
    }
  });

  test('doubles the delay of a failing invoice up to a minute', () => {
    const queue = createForwardQueue();
    const [poison, behind] = [anEntry('a'), anEntry('a')];
    queue.add(poison);
    queue.add(behind);
    const waits: number[] = [];
    let atMs = 0;
    for (let i = 0; i < 9; i += 1) {
      expect(queue.take(atMs)).toEqual(poison);
      const waitMs = queue.failed(poison, atMs);
      waits.push(waitMs);
      expect(queue.take(atMs + waitMs - 1)).toBeNull();
      const other = anEntry(`other-${i}`);
      queue.add(other);
      expect(queue.take(atMs)).toEqual(other);
      queue.done(other);
      atMs += waitMs;
      expect(queue.nextAtMs()).toBe(atMs);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('probes with one event while all fail, and resumes after a success', () => {
    const queue = createForwardQueue();
    for (let i = 0; i < 100; i += 1) queue.add(anEntry(`i${i}`));
    const first = Array.from({ length: 40 }, () => queue.take(0)).filter((entry) => entry !== null);
    expect(first).toHaveLength(32);
    for (const entry of first) queue.failed(entry, 0);
    expect(queue.isGateClosed()).toBe(true);
    let atMs = 0;
    for (let i = 0; i < 20; i += 1) {
      expect(queue.take(atMs)).toBeNull();
      const nextMs = queue.nextAtMs() ?? Number.NaN;
      expect(nextMs - atMs).toBeGreaterThan(0);
      expect(nextMs - atMs).toBeLessThanOrEqual(5_000);
      atMs = nextMs;
      const probe = queue.take(atMs);
      expect(probe).not.toBeNull();
      expect(queue.take(atMs)).toBeNull();
      if (probe !== null && i < 19) queue.failed(probe, atMs);
      if (probe !== null && i === 19) queue.done(probe);
    }
    const after = Array.from({ length: 100 }, () => {
      const entry = queue.take(atMs);
      if (entry !== null) queue.done(entry);
      return entry;
    });
    expect(after.filter((entry) => entry !== null)).toHaveLength(99);
    expect(queue.size()).toBe(0);
  });

  test('does not hold test events and refused deliveries', () => {
    const queue = createForwardQueue();
    queue.add(anEntry('a'));
    queue.add(anEntry('a', 'refused'));
    queue.add(anEntry('a', 'test'));
    expect([queue.take(0), queue.take(0), queue.take(0)].filter((entry) => entry !== null)).toHaveLength(3);
  });

  test('forwards everything in order per invoice after any failures', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 30 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 3 })),
        (invoices, random) => {
          const queue = createForwardQueue({ concurrency: 3 });
          const entries = invoices.map((invoice) => anEntry(`i${invoice}`));
          for (const entry of entries) queue.add(entry);
          const sent: InboxEntry[] = [];
          const taken: InboxEntry[] = [];
          let failuresLeft = 60;
          let atMs = 0;
          while (queue.size() > 0) {
            const entry = queue.take(atMs);
            if (entry !== null) taken.push(entry);
            const isFull = entry === null;
            const roll = random.next().value ?? 0;
            const finished = isFull || roll > 1 ? taken.shift() : undefined;
            if (finished !== undefined && roll % 2 === 0 && failuresLeft > 0) {
              failuresLeft -= 1;
              queue.failed(finished, atMs);
            } else if (finished !== undefined) {
              queue.done(finished);
              sent.push(finished);
            } else if (isFull) atMs = Math.max(atMs + 1, queue.nextAtMs() ?? 0);
          }
          expect(sent).toHaveLength(entries.length);
          for (const invoice of new Set(entries.map((entry) => entry.invoiceId))) {
            const order = (list: InboxEntry[]): string[] =>
              list.filter((entry) => entry.invoiceId === invoice).map((entry) => entry.eventId);
            expect(order(sent)).toEqual(order(entries));
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
