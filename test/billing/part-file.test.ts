/** Downloads under way: nothing of them outlives an attempt, a crash, or a full disk. */

import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPartFile, sweepPartFiles } from '../../billing/part-file.js';

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'part-file-')), 'tmp');
});
afterEach(() => rm(join(folder, '..'), { recursive: true, force: true }));

describe('createPartFile', () => {
  test('writes what it is given, readable by its owner alone', async () => {
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

  test('refuses before the first byte when the disk has no room', async () => {
    await expect(createPartFile(folder, 2 ** 60)).rejects.toMatchObject({ code: 'disk-full' });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('sweepPartFiles', () => {
  test('removes what the dead left, also one that had our pid, and nothing that is in use', async () => {
    await mkdir(folder, { recursive: true });
    const dead = [`.4194304-${'a'.repeat(16)}.tmp`, `.${process.pid}-${'b'.repeat(16)}.tmp`];
    const others = ['notes.txt', `.${process.ppid}-${'c'.repeat(16)}.tmp`];
    for (const name of [...dead, ...others]) await writeFile(join(folder, name), 'x');
    const part = await createPartFile(folder, null);
    await sweepPartFiles(folder);
    const left = (await readdir(folder)).map((name) => join(folder, name)).sort();
    expect(left).toEqual([...others.map((name) => join(folder, name)), part.path].sort());
    await part.discard();
  });

  test('needs no folder', async () => {
    await expect(sweepPartFiles(join(folder, 'none'))).resolves.toBeUndefined();
  });
});
