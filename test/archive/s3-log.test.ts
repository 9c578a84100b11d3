import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { openS3Archive } from '../../archive/s3/archive.ts';
import { createS3Log } from '../../archive/s3/log.ts';
import { testFolder } from '../support/folders.ts';
import { archiveContract } from './contract.ts';
import { type MemoryBucket, openMemoryBucket } from './memory-bucket.ts';

const MINUTE_MS = 60_000;

describe('an archive in a bucket', () => {
  let bucket: MemoryBucket;
  beforeEach(() => {
    bucket = openMemoryBucket();
  });
  const open = () => openS3Archive(bucket, testFolder());
  archiveContract(async () => ({ archive: await open(), another: open }));
});

const acts = fc.array(
  fc.oneof(
    /** Appends; the write is held for that many minutes. */
    fc.record({
      kind: fc.constant('append' as const),
      writer: fc.nat({ max: 1 }),
      held: fc.constantFrom(0, 0, 1, 3, 30),
    }),
    fc.record({ kind: fc.constant('pass' as const), minutes: fc.constantFrom(0, 1, 4, 20, 600) }),
    fc.record({ kind: fc.constant('read' as const) }),
  ),
  { minLength: 1, maxLength: 25 },
);

test('a reader of a log gets every confirmed line once, however long its write was held and its servers’ clocks differ', async () => {
  await fc.assert(
    fc.asyncProperty(
      acts,
      fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 1 }),
      async (drawn, skews) => {
        let calls = 0;
        const bucket = openMemoryBucket(() => {
          calls += 1;
          return (skews[calls % skews.length] ?? 0) * 1_000;
        });
        const held: { readonly at: number; readonly release: () => void }[] = [];
        let holdMs = 0;
        bucket.onPut = () => {
          if (holdMs === 0) return Promise.resolve();
          const { promise, resolve } = Promise.withResolvers<void>();
          held.push({ at: bucket.nowMs + holdMs, release: resolve });
          holdMs = 0;
          return promise;
        };
        const settled = () => new Promise((resolve) => setImmediate(resolve));
        const logs = [createS3Log(bucket, 'facts'), createS3Log(bucket, 'facts')];
        const reader = createS3Log(bucket, 'facts');
        const confirmed: string[] = [];
        const open = new Set<Promise<void>>();
        const seen: string[] = [];
        const seenKeys: string[] = [];
        let cursor: string | null = null;
        let written = 0;
        const read = async (): Promise<void> => {
          const before = [...confirmed];
          const since = await reader.since(cursor);
          seen.push(...since.keys.map((key) => reader.nameOf(key)));
          expect(new Set(since.keys).size).toBe(since.keys.length);
          cursor = since.cursor;
          expect(new Set(seen)).toEqual(new Set([...seen, ...before]));
        };
        const pass = async (ms: number): Promise<void> => {
          bucket.nowMs += ms;
          for (const one of held.splice(0)) {
            if (one.at <= bucket.nowMs) one.release();
            else held.push(one);
          }
          await settled();
        };
        for (const act of drawn) {
          if (act.kind === 'append') {
            holdMs = act.held * MINUTE_MS;
            written += 1;
            const name = `line-${written}`;
            const appending: Promise<void> = (logs[act.writer] ?? reader).append(name, name).then(() => {
              confirmed.push(name);
              open.delete(appending);
            });
            open.add(appending);
            await settled();
          } else if (act.kind === 'pass') await pass(act.minutes * MINUTE_MS);
          else await read();
        }
        while (open.size > 0) await pass(31 * MINUTE_MS);
        await read();
        expect(confirmed).toHaveLength(written);
        const all = await reader.since(null);
        expect(new Set(all.keys.map(reader.nameOf))).toEqual(new Set(seen));
        // A line is twice in the log only when its first write was too late.
        const late = drawn.filter((act) => act.kind === 'append' && act.held > 0).length;
        expect(all.keys.length - written).toBeLessThanOrEqual(late);
        expect(new Set(seenKeys).size).toBe(seenKeys.length);
      },
    ),
    { numRuns: 300 },
  );
});

test('lines of one writer are in order, also within a millisecond', async () => {
  const bucket = openMemoryBucket();
  const log = createS3Log(bucket, 'facts');
  const names = Array.from({ length: 20 }, (_, n) => `line-${n}`);
  for (const name of names) await log.append(name, '');
  const { keys, cursor } = await log.since(null);
  expect(keys.map(log.nameOf)).toEqual(names);
  expect((await log.since(cursor)).keys).toEqual([]);
  await expect(log.since('elsewhere')).rejects.toThrow();
});
