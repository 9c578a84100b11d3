import { createHash } from 'node:crypto';
import { chmod, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { takeCopy } from '../../../warehouse/import/take-copy.ts';
import { makeCsv } from '../../bench/support/make-csv.ts';
import { testFolder } from '../../support/folders.ts';

const folder = testFolder();

const left = (): Promise<string[]> => readdir(join(folder, 'run', 'tmp'));

describe.each([
  { size: 'a small file', rows: 3 },
  { size: 'a file for a thread', rows: 70_000 },
])('$size', ({ rows }) => {
  test('copies the bytes with hash and scan', async () => {
    const path = join(folder, `${rows}.csv`);
    await makeCsv(path, rows);
    // Every user may read the original and no user may write it; the copy is private.
    await chmod(path, 0o444);
    const bytes = await readFile(path);
    const begun = takeCopy(folder, path);
    const { path: copy, file } = await begun.taken;
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256);
    expect(file).toMatchObject({ sizeBytes: bytes.length, scan: { records: rows, findingCount: 0 } });
    expect((await readFile(copy)).equals(bytes)).toBe(true);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
    await begun.discard();
    await begun.discard();
    expect(await left()).toEqual([]);
  });
});

test("reports a missing file with the system's code", async () => {
  const begun = takeCopy(folder, join(folder, 'nothing.csv'));
  await expect(begun.taken).rejects.toMatchObject({ code: 'ENOENT' });
  await begun.discard();
});

test("keeps the system's code of errors in the thread", async () => {
  const path = join(folder, 'gone.csv');
  await makeCsv(path, 70_000);
  const begun = takeCopy(folder, path);
  // The thread opens the file later than this removes it.
  await rm(path);
  await expect(begun.taken).rejects.toMatchObject({ code: 'ENOENT' });
  await begun.discard();
});
