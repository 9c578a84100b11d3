import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lockOwner } from '../../lib/files/lock-file.ts';
import { lockWarehouse } from '../../warehouse/duckdb/locks.ts';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';

const folder = testFolder();

const now = new Date();
const longAgo = new Date(Date.now() - 60_000);
/** The lock of a worker in another container: its pid has no meaning here. */
const ofAnotherContainer = {
  pid: 1,
  started: '1',
  role: 'worker',
  since: '2026-01-01T00:00:00.000Z',
  namespace: 'elsewhere',
};

describe('the lock of the warehouse', () => {
  test('is held by another container as long as it is touched', async () => {
    const path = join(folder, 'elsewhere.lock');
    await writeFile(path, JSON.stringify(ofAnotherContainer));
    expect(await lockOwner(path)).toMatchObject({ role: 'worker', namespace: 'elsewhere' });
    await expect(lockWarehouse(path, { role: 'verify', now })).rejects.toMatchObject({
      code: 'warehouse-locked',
    });
    await utimes(path, longAgo, longAgo);
    expect(await lockOwner(path)).toBeNull();
    const lock = await lockWarehouse(path, { role: 'verify', now });
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ role: 'verify', pid: process.pid });
    await lock.release();
  });

  test('is touched by its holder, and by no process after its release', async () => {
    const path = join(folder, 'mine.lock');
    const lock = await lockWarehouse(path, { role: 'worker', now, touchEveryMs: 20 });
    await utimes(path, longAgo, longAgo);
    await eventually(async () => (await stat(path)).mtimeMs > Date.now() - 30_000);
    await lock.release();
    await expect(stat(path)).rejects.toThrow(/ENOENT/);
  });

  test('of this machine is checked by pid', async () => {
    const path = join(folder, 'here.lock');
    const { namespace: _, ...withoutNamespace } = ofAnotherContainer;
    const ownerOf = async (pid: number, started: string | null) => {
      await writeFile(path, JSON.stringify({ ...withoutNamespace, pid, started }));
      return lockOwner(path);
    };
    // Another process has the pid of an owner that has ended.
    for (const pid of [process.pid, process.ppid]) expect(await ownerOf(pid, '1')).toBeNull();
    expect(await ownerOf(process.ppid, null)).toMatchObject({ pid: process.ppid });
  });
});
