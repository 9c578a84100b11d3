/** One instance of DuckDB for all who read a published file: what they share of each other, and when it is let go. */

import { copyFile, readdir, readlink, rename } from 'node:fs/promises';
import { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPublishedFile } from '../../reports/open-published-file.ts';
import { keepOpen } from '../../reports/shared-instance.ts';
import { type ReportsFixture, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';

const COUNT = 'select cast(count(*) as integer) as n from shipments';
let few: ReportsFixture;
let more: ReportsFixture;
let path: string;
let [inFew, inMore] = [0, 0];

beforeAll(async () => {
  few = await reportsFixture(seededInvoices(1, 3));
  more = await reportsFixture(seededInvoices(2, 4));
  path = `${few.path}.shared`;
  await publish(more.path);
  inMore = await queryOnce(COUNT);
  await publish(few.path);
  inFew = await queryOnce(COUNT);
  expect(inMore).toBeGreaterThan(inFew);
});
beforeEach(() => publish(few.path));
afterAll(() => Promise.all([few.remove(), more.remove()]));

/** The open files of this process by this name, those that were replaced meanwhile too. */
async function timesOpen(): Promise<number> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((link) => link.replace(/ \(deleted\)$/, '') === path).length;
}

async function queryOnce(sql: string): Promise<number> {
  const file = await openPublishedFile(path);
  try {
    return Number((await file.query(sql)).getRowsJson()[0]?.[0]);
  } finally {
    file.close();
  }
}

async function publish(from: string): Promise<void> {
  await copyFile(from, `${path}.tmp`);
  await rename(`${path}.tmp`, path);
}

describe('sessions of one published file', () => {
  test('open it once, are isolated from each other, and close it with the last session', async () => {
    const one = await openPublishedFile(path);
    const byOne = await timesOpen();
    expect(byOne).toBeGreaterThan(0);
    const other = await openPublishedFile(path);
    expect(await timesOpen()).toBe(byOne);
    for (const [file, value] of [
      [one, 'one'],
      [other, 'other'],
    ] as const) {
      await file.query(`set variable filter = '${value}'`);
      await file.query(`create temp table kept as select '${value}' as value`);
    }
    for (const [file, value] of [
      [one, 'one'],
      [other, 'other'],
    ] as const)
      expect((await file.query(`select getvariable('filter'), value from kept`)).getRowsJson()).toEqual([
        [value, value],
      ]);
    one.close();
    one.close();
    expect((await other.query(COUNT)).getRowsJson()).toEqual([[inFew]]);
    other.close();
    await expect.poll(timesOpen).toBe(0);
  });

  test('have UTC as time zone, and can neither change it nor read another file', async () => {
    const files = [await openPublishedFile(path), await openPublishedFile(path)];
    for (const file of files) {
      expect((await file.query(`select current_setting('TimeZone')`)).getRowsJson()).toEqual([['UTC']]);
      await expect(file.query(`set TimeZone = 'Asia/Tokyo'`)).rejects.toThrow('locked');
      await expect(file.query(`select * from read_csv('/etc/passwd')`)).rejects.toThrow('disabled');
      file.close();
    }
  });

  test('keep their data when the file is replaced, while later ones read the new file', async () => {
    const former = await openPublishedFile(path);
    await publish(more.path);
    expect(await queryOnce(COUNT)).toBe(inMore);
    expect((await former.query(COUNT)).getRowsJson()).toEqual([[inFew]]);
    former.close();
    await expect.poll(timesOpen).toBe(0);
  });
});

describe('a kept published file', () => {
  test('keeps it open between sessions, switches after a publication, and closes both', async () => {
    const keeper = keepOpen(path);
    await queryOnce(COUNT);
    const byOne = await timesOpen();
    expect(byOne).toBeGreaterThan(0);
    await publish(more.path);
    expect(await queryOnce(COUNT)).toBe(inMore);
    await expect.poll(timesOpen).toBe(byOne);
    keeper.close();
    await expect.poll(timesOpen).toBe(0);
  });

  test('releases the space of a replaced file that is not read any more', async () => {
    const keeper = keepOpen(path, { checkEveryMs: 20 });
    await queryOnce(COUNT);
    expect(await timesOpen()).toBeGreaterThan(0);
    await publish(more.path);
    await expect.poll(timesOpen).toBe(0);
    keeper.close();
  });

  test('opens a new instance when the former one refuses every statement', async () => {
    const keeper = keepOpen(path);
    const during = await openPublishedFile(path);
    const byOne = await timesOpen();
    vi.spyOn(DuckDBConnection.prototype, 'run').mockRejectedValueOnce(
      new Error('FATAL Error: Failed: database has been invalidated because of a previous fatal error.'),
    );
    expect(await queryOnce(COUNT)).toBe(inFew);
    vi.restoreAllMocks();
    expect(await timesOpen()).toBe(byOne * 2);
    during.close();
    await expect.poll(timesOpen).toBe(byOne);
    keeper.close();
    await expect.poll(timesOpen).toBe(0);
  });
});
