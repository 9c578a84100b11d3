import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LoadFact } from '../../warehouse/ledger/ingest.ts';
import { openWarehouse } from '../../warehouse/open-warehouse.ts';
import { startPublisher } from '../../warehouse/publication-loop.ts';
import { eventually } from '../support/eventually.ts';
import { playStory } from './story.ts';
import {
  aCsv,
  aWarehouse,
  INVOICE,
  loadCsv,
  manyRecords,
  sha256,
  silent,
  type TestWarehouse,
} from './support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

describe('openWarehouse', () => {
  const open = (settings = t.settings) => openWarehouse({ settings, archive: t.archive, log: silent });

  test('refuses a warehouse that a running process holds, and takes over the lock of a dead one', async () => {
    await expect(open()).rejects.toMatchObject({ code: 'warehouse-locked' });
    await t.warehouse.close();
    const lock = join(t.dataDir, 'warehouse.lock');
    const owner = { role: 'worker', since: '2026-01-01T00:00:00Z' };
    writeFileSync(lock, JSON.stringify({ ...owner, pid: 1, started: null }));
    await expect(open()).rejects.toMatchObject({ message: expect.stringContaining('process 1 (worker)') });
    writeFileSync(lock, JSON.stringify({ ...owner, pid: 2 ** 22 - 1, started: '1' }));
    const warehouse = await open();
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ pid: process.pid });
    await warehouse.close();
    expect(existsSync(lock)).toBe(false);
  });

  test('refuses the data folder of the other environment', async () => {
    const opening = open({ ...t.settings, environment: 'production' });
    await expect(opening).rejects.toMatchObject({ code: 'environment-mismatch' });
  });

  test('records loads that were numbered before and committed after a publication, when their facts are lost', async () => {
    const slow = (invoiceId: string) => loadCsv(t, manyRecords(19_000, [{}], invoiceId), { invoiceId });
    const [first = '', ...batch] = [1, 2, 3, 4, 5].map((n) => `66666666-6666-4666-8666-00000000000${n}`);
    const { putFact } = t.archive;
    Object.assign(t.archive, {
      putFact: async (fact: LoadFact) => {
        if (batch.includes(fact.invoiceId)) throw new Error('crash between commit and fact');
        return putFact(fact);
      },
    });
    // A file that was in progress at a crash is loaded alone, beside the batch.
    writeFileSync(join(t.dataDir, 'run', 'load-attempts', `${INVOICE}.${sha256(aCsv())}`), '.');
    const firstLoad = slow(first);
    const ended = Promise.allSettled(batch.map(slow));
    await firstLoad;
    await loadCsv(t, aCsv());
    await t.warehouse.publish();
    expect((await ended).map(({ status }) => status)).toEqual(batch.map(() => 'rejected'));
    Object.assign(t.archive, { putFact });
    await t.reopen();
    expect(await t.drift()).toEqual([]);
    const loaded: string[] = [];
    for await (const fact of t.archive.facts()) if (fact.kind === 'load') loaded.push(fact.invoiceId);
    expect(loaded.toSorted()).toEqual([INVOICE, first, ...batch].toSorted());
  });
});

test('verify reads each load once unless it is full', async () => {
  await playStory(t);
  expect(await t.warehouse.verify({ full: false })).toMatchObject({ filesRead: 7, drift: [] });
  expect(await t.warehouse.verify({ full: false })).toMatchObject({ filesRead: 0, drift: [] });
  const full = await t.warehouse.verify({ full: true });
  expect(full).toMatchObject({ invoices: 4, shipments: 8, filesRead: 7, drift: [] });
  expect(full.discrepancies).toBeGreaterThan(0);
});

describe('publish', () => {
  test('continues the sequence of the published copy, and replaces one that is no database', async () => {
    for (let round = 0; round < 2; round += 1) await t.warehouse.publish();
    rmSync(join(t.dataDir, 'warehouse.duckdb'));
    await t.reopen();
    expect(await t.warehouse.publish()).toMatchObject({ sequence: 3 });
    rmSync(join(t.dataDir, 'reports.duckdb'));
    writeFileSync(join(t.dataDir, 'reports.duckdb'), 'no database');
    expect(await t.warehouse.publish()).toMatchObject({ sequence: 4 });
    rmSync(join(t.dataDir, 'warehouse.duckdb'));
    await t.reopen();
    expect(await t.warehouse.publish()).toMatchObject({ sequence: 5 });
  });

  test('leaves no temporary file, including those of dead processes', async () => {
    const dead = join(t.dataDir, `reports.duckdb.${2 ** 22 - 1}.tmp`);
    writeFileSync(dead, 'half a copy');
    await t.reopen();
    await t.warehouse.publish();
    expect(readdirSync(t.dataDir).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});

describe('startPublisher', () => {
  test('publishes after each change, one publication at a time', async () => {
    const sequences: number[] = [];
    const publisher = startPublisher(t.warehouse, {
      log: silent,
      onPublished: ({ sequence }) => sequences.push(sequence),
    });
    const published = (count: number) => eventually(async () => sequences.length >= count);
    await published(1); // The state at the start.
    for (let change = 1; change <= 3; change += 1) {
      await loadCsv(t, aCsv(Array.from({ length: change }, () => ({}))));
      await published(change + 1);
    }
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
    await publisher.close();
  });

  test('publishes the commits of an earlier process that was killed before publishing', async () => {
    await loadCsv(t, aCsv());
    await t.reopen();
    const published = new Promise((done) => {
      const publisher = startPublisher(t.warehouse, {
        ...{ log: silent, quietMs: 10, ingestEveryMs: 0 },
        onPublished: (publication) => void publisher.close().then(() => done(publication)),
      });
    });
    expect(await published).toMatchObject({ shipments: 1 });
  });

  test('continues after a failed publication', async () => {
    let failures = 1;
    const { warehouse } = t;
    const publish = warehouse.publish.bind(warehouse);
    Object.assign(warehouse, {
      publish: () => (failures-- > 0 ? Promise.reject(new Error('disk full')) : publish()),
    });
    const published = new Promise((done) => {
      startPublisher(warehouse, { log: silent, quietMs: 10, onPublished: done, ingestEveryMs: 0 });
    });
    await loadCsv(t, aCsv());
    expect(await published).toMatchObject({ shipments: 1 });
  });
});

test('numbers versions correctly with a constant clock', async () => {
  const fixed = new Date('2026-03-01T00:00:00Z');
  const other = await aWarehouse({ now: () => fixed });
  await loadCsv(other, aCsv([{ 'Billing Cost': '1' }]));
  expect(await loadCsv(other, aCsv([{ 'Billing Cost': '2' }]))).toMatchObject({ version: 2 });
  expect(await other.warehouse.invoice(INVOICE)).toMatchObject({ loadedVersion: 2, billingCost: '2.0000' });
  await other.close();
});
