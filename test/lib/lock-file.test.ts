import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lockOwner } from '../../lib/files/lock-file.ts';
import { ownIdentity, ownNamespace } from '../../lib/processes.ts';
import { lockWarehouse } from '../../warehouse/duckdb/locks.ts';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';

const folder = testFolder();

const now = new Date();
const longAgo = new Date(Date.now() - 60_000);
const mine = ownIdentity();
const here = ownNamespace();
const NOBODY = 4_194_304;

describe('the lock of the warehouse', () => {
  test.each([
    ['a running process', { ...mine, namespace: here }, longAgo, true],
    ['a running process of a system without namespaces', { ...mine, namespace: null }, longAgo, true],
    ['a running process that names none', mine, longAgo, true],
    ['a process whose pid another one has now', { ...mine, started: '1', namespace: here }, now, false],
    ['another process, whose pid one before it had', { pid: process.ppid, started: '1' }, now, false],
    ['another running process', { pid: process.ppid, started: null }, longAgo, true],
    ['a process that has ended', { ...mine, pid: NOBODY, namespace: here }, now, false],
    ['another container that touches it', { ...mine, pid: NOBODY, namespace: 'elsewhere' }, now, true],
    ['another container that is gone', { ...mine, namespace: 'elsewhere' }, longAgo, false],
    ['a file that a crash left empty', '', now, false],
    ['a file of something else', '{"pid"', now, false],
  ])('of %s', async (name, owner, touchedAt, isHeld) => {
    const path = join(folder, `${name}.lock`);
    const since = '2026-01-01T00:00:00.000Z';
    await writeFile(
      path,
      typeof owner === 'string' ? owner : JSON.stringify({ ...owner, role: 'worker', since }),
    );
    await utimes(path, touchedAt, touchedAt);
    const locking = lockWarehouse(path, { role: 'verify', now });
    if (isHeld) {
      await expect(locking).rejects.toMatchObject({ code: 'warehouse-locked' });
      expect(await lockOwner(path)).toMatchObject({ role: 'worker' });
      return;
    }
    const lock = await locking;
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ role: 'verify', pid: process.pid });
    await lock.release();
    expect(await lockOwner(path)).toBeNull();
  });

  test('is touched by its holder, and by no process after its release', async () => {
    const path = join(folder, 'mine.lock');
    const lock = await lockWarehouse(path, { role: 'worker', now, touchEveryMs: 20 });
    await utimes(path, longAgo, longAgo);
    await eventually(async () => (await stat(path)).mtimeMs > Date.now() - 30_000);
    await lock.release();
    await expect(stat(path)).rejects.toThrow(/ENOENT/);
  });
});
