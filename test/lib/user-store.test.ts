import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createUserFile, folderStore } from '../../lib/user-store.ts';
import { testFolder } from '../support/folders.ts';

const root = testFolder();
const aFolder = (): string => mkdtempSync(join(root, 'user-'));

/** Adds one to a number and appends a line, in a process of its own. */
async function countElsewhere(folder: string, times: number): Promise<void> {
  const module = new URL('../../lib/user-store.ts', import.meta.url).href;
  const program = `
    const { folderStore } = await import(${JSON.stringify(module)});
    const store = folderStore(${JSON.stringify(folder)});
    for (let time = 0; time < ${times}; time += 1) {
      await store.change('counted', (before) => String(Number(before ?? 0) + 1));
      await store.append('lines', (before) => String(before).split('\\n').length + '\\n');
    }`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
}

test('loses no change and no line of processes that write at once', async () => {
  const folder = aFolder();
  await Promise.all(Array.from({ length: 3 }, () => countElsewhere(folder, 15)));
  const store = folderStore(folder);
  expect(String(await store.read('counted'))).toBe('45');
  const lines = String(await store.read('lines'))
    .trimEnd()
    .split('\n');
  expect(lines).toEqual(Array.from({ length: 45 }, (_, index) => String(index + 1)));
  expect(statSync(store.place('lines')).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder).sort()).toEqual(['counted', 'lines']);
});

test('creates a file once, and makes no folder for a change that changes nothing', async () => {
  const folder = join(aFolder(), 'none');
  const store = folderStore(folder);
  expect(await store.change('a/b', () => null)).toBe(false);
  expect(await store.read('a/b')).toBeNull();
  expect(await store.list('')).toEqual([]);
  const created = await Promise.all(['one', 'two'].map((text) => createUserFile(store, 'a/b', text)));
  expect(created.sort()).toEqual([false, true]);
  writeFileSync(join(folder, 'a', '.part.tmp'), 'x');
  expect(await store.list('')).toEqual(['a/b']);
  expect([await store.remove('a/b'), await store.remove('a/b')]).toEqual([true, false]);
});

test('replaces a line that was cut off and never confirmed', async () => {
  const store = folderStore(aFolder());
  writeFileSync(store.place('lines'), 'whole\n{"half":');
  await store.append('lines', (before) => `after ${before.length}\n`);
  expect(String(await store.read('lines'))).toBe('whole\nafter 6\n');
});
