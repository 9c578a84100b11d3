import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createPageCache } from '../../dashboard/page-cache.ts';
import { startWarmUp } from '../../dashboard/warm-up.ts';
import { testFolder } from '../support/folders.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = testFolder();
  path = join(folder, 'reports.duckdb');
  await publish('one');
});

async function publish(content: string): Promise<void> {
  await writeFile(`${path}.next`, content);
  await rename(`${path}.next`, path);
}

/** Makes pages named by a counter; each waits until it is let go. */
function maker() {
  let made = 0;
  const waiting: (() => void)[] = [];
  return {
    made: () => made,
    letGo: () => {
      for (const go of waiting.splice(0)) go();
    },
    make: async (): Promise<string> => {
      made += 1;
      const name = `page ${made}`;
      await new Promise<void>((resolve) => waiting.push(resolve));
      return name;
    },
  };
}

test('keeps only the last requested large results per file', async () => {
  const cache = createPageCache(path);
  const made: string[] = [];
  const read = (name: string) =>
    cache.recent(name, async () => {
      made.push(name);
      return name;
    });
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'a', 'g', 'a', 'b']) expect(await read(name)).toBe(name);
  expect(made.join('')).toBe('abcdefgb');
  await publish('two');
  await read('b');
  expect(made.at(-1)).toBe('b');
  expect(made).toHaveLength(9);
});

describe('a page', () => {
  test('is rendered once for concurrent requests and again for the next file', async () => {
    const cache = createPageCache(path, { patienceMs: 60_000 });
    const pages = maker();
    const both = [cache.page('/', pages.make), cache.page('/', pages.make)];
    await expect.poll(pages.made).toBe(1);
    pages.letGo();
    expect(await Promise.all(both)).toEqual([
      { value: 'page 1', isFormer: false },
      { value: 'page 1', isFormer: false },
    ]);
    await publish('two');
    const next = cache.page('/', pages.make);
    await expect.poll(pages.made).toBe(2);
    pages.letGo();
    expect(await next).toEqual({ value: 'page 2', isFormer: false });
  });

  test('serves the former page with a note when rendering takes long', async () => {
    const cache = createPageCache(path, { patienceMs: 10 });
    const pages = maker();
    const first = cache.page('/', pages.make);
    await expect.poll(pages.made).toBe(1);
    pages.letGo();
    await first;
    await publish('two');
    expect(await cache.page('/', pages.make)).toEqual({ value: 'page 1', isFormer: true });
    expect(await cache.page('/', pages.make)).toEqual({ value: 'page 1', isFormer: true });
    const present = cache.page('/', pages.make, { isPresent: true });
    expect(pages.made()).toBe(2);
    pages.letGo();
    expect(await present).toEqual({ value: 'page 2', isFormer: false });
    await expect.poll(() => cache.page('/', pages.make)).toEqual({ value: 'page 2', isFormer: false });
  });

  test('is never one of another day, on which its period may be another', async () => {
    let now = new Date('2026-10-31T23:59:59Z');
    const cache = createPageCache(path, { patienceMs: 1, now: () => now });
    const lastMonth = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return now.getUTCMonth();
    };
    expect((await cache.page('/?period=last-month', lastMonth)).value).toBe(9);
    now = new Date('2026-11-01T00:00:00Z');
    expect(await cache.page('/?period=last-month', lastMonth)).toEqual({ value: 10, isFormer: false });
  });

  test('is retried after a failure', async () => {
    const cache = createPageCache(path);
    await expect(cache.page('/', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect((await cache.page('/', async () => 'yes')).value).toBe('yes');
  });
});

describe('pages made ahead', () => {
  test('are the first page only while no page is requested', async () => {
    const cache = createPageCache(path);
    cache.offer('/reports/tenants', async () => 'tenants');
    cache.offer('/', async () => 'overview', { isFirst: true });
    expect(await cache.due()).toEqual(['/']);
    await cache.renew('/');
    await publish('two');
    expect(await cache.due()).toEqual([]);
  });

  test('use at most a quarter of the time, one after the other', async () => {
    const spans: { began: number; ended: number }[] = [];
    const warmUp = startWarmUp(
      {
        due: async () => ['/'],
        quietForMs: () => Number.POSITIVE_INFINITY,
        renew: async () => {
          const began = performance.now();
          await new Promise((resolve) => setTimeout(resolve, 30));
          spans.push({ began, ended: performance.now() });
        },
      },
      { everyMs: 1 },
    );
    await expect.poll(() => spans.length).toBeGreaterThanOrEqual(4);
    await warmUp.close();
    const count = spans.length;
    for (const [index, span] of spans.slice(1).entries()) {
      const before = spans[index];
      if (before === undefined) continue;
      expect(span.began - before.ended).toBeGreaterThanOrEqual(2.5 * (before.ended - before.began));
    }
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(spans).toHaveLength(count);
  });
});

describe('pages that are made ahead', () => {
  test('wait for readers, with a limit', async () => {
    const cache = createPageCache(path);
    const made: string[] = [];
    cache.offer('/', async () => made.push('/'), { isFirst: true });
    let finish: (value: string) => void = () => {};
    const reading = cache.page('/slow', () => new Promise<string>((done) => (finish = done)));
    await expect.poll(() => cache.quietForMs()).toBe(0);
    const patient = startWarmUp(cache, { everyMs: 50, maxDelayMs: 60_000 });
    await new Promise((wait) => setTimeout(wait, 300));
    expect(made).toEqual([]);
    finish('page');
    await reading;
    await expect.poll(() => made).toEqual(['/']);
    await patient.close();

    await publish('next');
    void cache.page('/slow', () => new Promise<string>((done) => (finish = done)));
    const hurried = startWarmUp(cache, { everyMs: 5, maxDelayMs: 100 });
    await expect.poll(() => made).toEqual(['/', '/']);
    await hurried.close();
    finish('page');
  });
});
