import { afterEach, expect, test, vi } from 'vitest';
import { startPublisher } from '../../warehouse/publication-loop.ts';
import { silent } from './support.ts';

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ['a copy of 200 MB at 20 MB a second', { copiedBytes: 200e6, least: 10_000, most: 10_500 }],
  ['a copy that shares the blocks of the warehouse', { copiedBytes: 0, least: 0, most: 4_500 }],
])('after %s, changes are published again when its bytes allow', async (_, { copiedBytes, least, most }) => {
  vi.useFakeTimers();
  const publishedAt: number[] = [];
  let change = (): void => {};
  const publisher = startPublisher(
    {
      ingestArchive: async () => ({}) as never,
      onChange: (listener) => {
        change = listener;
      },
      async publish() {
        publishedAt.push(Date.now());
        return { sequence: 1, publishedAt: '', path: '', invoices: 0, shipments: 0, copiedBytes };
      },
    },
    { log: silent, bytesPerSecond: 20e6, ingestEveryMs: 0 },
  );
  for (let at = 0; at < 60_000; at += 50) {
    change();
    await vi.advanceTimersByTimeAsync(50);
  }
  const pauses = publishedAt.slice(1).map((at, index) => at - (publishedAt[index] ?? 0));
  expect(pauses.length).toBeGreaterThan(4);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(least);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(most);
  await publisher.close();
});
