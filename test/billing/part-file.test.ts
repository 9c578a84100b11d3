/** Downloads under way: nothing of them outlives an attempt or a full disk. */

import { mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPartFile } from '../../billing/part-file.ts';

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

  test.each([100, 64 * 1024, 64 * 1024 + 1])(
    'writes a file of %i bytes, small ones directly',
    async (length) => {
      const part = await createPartFile(folder, length);
      const bytes = Buffer.alloc(length, 'y');
      await part.write(bytes);
      await part.finish();
      expect((await readFile(part.path)).equals(bytes)).toBe(true);
      await rename(part.path, join(folder, 'kept'));
      await part.discard();
      expect(await readdir(folder)).toEqual(['kept']);
    },
  );

  test('refuses before the first byte without disk space', async () => {
    await expect(createPartFile(folder, 2 ** 60)).rejects.toMatchObject({ code: 'disk-full' });
    expect(await readdir(folder)).toEqual([]);
  });
});
