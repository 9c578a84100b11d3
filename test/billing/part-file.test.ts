/** Downloads under way: nothing of them outlives an attempt or a full disk. */

import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPartFile } from '../../billing/receive-file.ts';

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'part-file-')), 'tmp');
});
afterEach(() => rm(join(folder, '..'), { recursive: true, force: true }));

describe('createPartFile', () => {
  test('writes the chunks, readable by its owner only', async () => {
    const part = await createPartFile(folder, null);
    const chunk = Buffer.alloc(300_000, 'x');
    for (let i = 0; i < 8; i++) await part.write(chunk);
    await part.write(Buffer.from('end'));
    await part.finish();
    const expected = Buffer.concat([...Array<Buffer>(8).fill(chunk), Buffer.from('end')]);
    expect((await readFile(part.path)).equals(expected)).toBe(true);
    expect((await stat(part.path)).mode & 0o777).toBe(0o600);
    await part.discard();
    expect(await readdir(folder)).toEqual([]);
  });

  test('leaves a file that was moved', async () => {
    const part = await createPartFile(folder, 3);
    await part.write(Buffer.from('csv'));
    await part.finish();
    await rename(part.path, join(folder, 'moved'));
    await part.discard();
    expect(await readdir(folder)).toEqual(['moved']);
  });

  test('waits for a write in progress before it closes the file', async () => {
    const part = await createPartFile(folder, null);
    const writing = part.write(Buffer.alloc(64 * 1024 * 1024));
    await part.discard();
    const next = openSync(join(folder, 'next'), 'w');
    await writing;
    closeSync(next);
    expect((await stat(join(folder, 'next'))).size).toBe(0);
    expect(await readdir(folder)).toEqual(['next']);
  });

  test('refuses before the first byte without disk space', async () => {
    await expect(createPartFile(folder, 2 ** 60)).rejects.toMatchObject({ code: 'disk-full' });
    expect(await readdir(folder)).toEqual([]);
  });
});
