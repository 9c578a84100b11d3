import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createPageCache } from '../../dashboard/page-cache.ts';
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
  test('is rendered once for concurrent requests, and again for the next file and the next day', async () => {
    let now = new Date('2026-10-31T23:59:59Z');
    const cache = createPageCache(path, () => now);
    let made = 0;
    const read = () => cache.present('/', async () => (made += 1));
    expect(await Promise.all([read(), read()])).toEqual([1, 1]);
    await publish('two');
    expect([await read(), await read()]).toEqual([2, 2]);
    now = new Date('2026-11-01T00:00:00Z');
    expect(await read()).toBe(3);
  });

  test('is retried after a failure', async () => {
    const cache = createPageCache(path);
    await expect(cache.present('/', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await cache.present('/', async () => 'yes')).toBe('yes');
  });
});

test('shows the last count without waiting, until it expires', async () => {
  const cache = createPageCache(path);
  let count = 0;
  const peek = () => cache.peek('badge of /', async () => (count += 1));
  expect(await peek()).toBeNull();
  await expect.poll(peek).toBe(1);
  await publish('two');
  expect(await peek()).toBe(1);
  await expect.poll(peek).toBe(2);
  cache.expire('badge of ');
  expect(await peek()).toBeNull();
});
