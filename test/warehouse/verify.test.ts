import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Fact } from '../../archive/archive.ts';
import { Database } from '../../warehouse/duckdb/database.ts';
import { verifyWarehouse } from '../../warehouse/verify.ts';
import {
  aCsv,
  anEvent,
  archiveCsv,
  aWarehouse,
  INVOICE,
  loadArchived,
  loadCsv,
  runOnFile,
  sha256,
  type TestWarehouse,
} from './support.ts';

const SECOND = '22222222-2222-4222-8222-222222222222';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

const journal = (): string => join(t.dataDir, 'archive/facts/journal.ndjson');

/** Rule, invoice, and what should be there, in order. */
async function drift(): Promise<readonly string[]> {
  return (await t.drift())
    .map(({ invoiceId, rule, expected }) => `${rule} ${invoiceId.slice(0, 4)} ${expected}`)
    .sort();
}

/** Two loads, and a fact of every other kind but discard. */
async function recordTwoInvoices(): Promise<readonly string[]> {
  const event = anEvent('invoice_finalized');
  await t.archive.putEvent(event);
  await t.archive.putFact({ kind: 'duplicate', at: '2026-03-01T00:00:00.700Z', eventId: event.eventId });
  const hashes = [];
  for (const invoiceId of [INVOICE, SECOND]) {
    const { sha256, sizeBytes } = await archiveCsv(t, aCsv([{}], invoiceId));
    const at = '2026-03-01T00:00:00.900Z';
    await t.archive.putFact({ kind: 'file', at, invoiceId, sha256, sizeBytes, source: 'event', from: null });
    await loadArchived(t, sha256, { invoiceId });
    hashes.push(sha256);
  }
  await t.warehouse.recordDetails({
    invoiceId: SECOND,
    status: 'finalized',
    header: { currencyCode: 'USD' },
  });
  await t.warehouse.markNeedsAttention({ invoiceId: SECOND, code: 'not-exported', reason: 'why' });
  await t.warehouse.clearNeedsAttention(SECOND);
  await t.warehouse.ingestArchive();
  expect(await drift()).toEqual([]);
  return hashes;
}

test('resumes after an interruption', async () => {
  const [, second] = await recordTwoInvoices();
  await loadCsv(t, aCsv([{}, {}], SECOND), { invoiceId: SECOND });
  await t.warehouse.close();
  const path = join(t.dataDir, 'warehouse.duckdb');
  const database = await Database.open({
    path,
    folders: [t.dataDir],
    temporaryFolder: t.dataDir,
    memoryLimit: null,
  });
  try {
    await database.use((session) => session.statement('delete from verification_log'));
    const request = {
      ...{ database, full: false, now: new Date('2026-03-02T00:00:00Z') },
      ingest: async () => undefined,
    };
    const stopping = Object.create(t.archive, {
      file: { value: (sha256: string) => t.archive.file(sha256) },
      reread: {
        value: (sha256: string) =>
          sha256 === second ? Promise.reject(new Error('stopped')) : t.archive.reread(sha256),
      },
    });
    await expect(verifyWarehouse({ ...request, archive: stopping })).rejects.toThrow('stopped');
    expect(await verifyWarehouse({ ...request, archive: t.archive })).toMatchObject({
      filesRead: 2,
      drift: [],
    });
    expect(await verifyWarehouse({ ...request, archive: t.archive })).toMatchObject({ filesRead: 0 });
  } finally {
    database.close();
  }
});

test('reports a missing journal of facts as drift', async () => {
  const [first, second] = await recordTwoInvoices();
  rmSync(journal());
  expect(await drift()).toEqual([
    'fact-missing  1 more fact of kind duplicate',
    'fact-missing  2 more facts of kind file',
    `fact-missing 1111 load 1 of ${first}`,
    'fact-missing 2222 1 more fact of kind attention',
    'fact-missing 2222 1 more fact of kind details',
    'fact-missing 2222 1 more fact of kind resolved',
    `fact-missing 2222 load 2 of ${second}`,
  ]);
});

test('reports an unreadable line of the journal with its number', async () => {
  const [first] = await recordTwoInvoices();
  writeFileSync(journal(), readFileSync(journal(), 'utf8').replace('"loadId":1,', '"loadId":x,'));
  expect(await t.drift()).toEqual([
    {
      invoiceId: '',
      rule: 'fact-unreadable',
      expected: 'a fact',
      found: 'facts/journal.ndjson, line 6: not JSON',
    },
    { invoiceId: INVOICE, rule: 'fact-missing', expected: `load 1 of ${first}`, found: 'not in the archive' },
  ]);
});

test('reports an event that the archive lost', async () => {
  const [kept, fileless, lineless] = [
    anEvent('invoice_created'),
    anEvent('invoice_finalized'),
    anEvent('invoice_voided'),
  ];
  for (const event of [kept, fileless, lineless]) await t.archive.putEvent(event);
  await t.warehouse.ingestArchive();
  expect(await drift()).toEqual([]);
  rmSync(join(t.dataDir, `archive/events/${fileless.eventId.slice(0, 2)}/${fileless.eventId}.json`));
  const events = join(t.dataDir, 'archive/events/journal');
  writeFileSync(events, readFileSync(events, 'utf8').replace(lineless.eventId, `?${lineless.eventId}`));
  expect(await drift()).toEqual([
    `event-missing 1111 event ${fileless.eventId}`,
    `event-missing 1111 event ${lineless.eventId}`,
  ]);
});

test('reports events, facts and voids that reading the archive skips', async () => {
  await recordTwoInvoices();
  const event = anEvent('invoice_voided');
  const { events, factsAfter } = t.archive;
  Object.assign(t.archive, { async *events() {}, async *factsAfter() {} });
  await t.archive.putEvent(event);
  await t.warehouse.recordDetails({ invoiceId: SECOND, status: 'finalized', header: {} });
  await expect(t.warehouse.voidInvoice(INVOICE)).rejects.toThrow('totals still count the invoice');
  const missed = `event-not-ingested 1111 event ${event.eventId}`;
  const [{ drift: quick }, full] = [await t.warehouse.verify({ full: false }), await drift()];
  expect(quick).toMatchObject([{ rule: 'event-not-ingested', invoiceId: INVOICE }]);
  expect(full).toEqual([
    missed,
    'fact-not-ingested 1111 1 more fact of kind details',
    'fact-not-ingested 2222 1 more fact of kind details',
  ]);
  Object.assign(t.archive, { events, factsAfter });
  expect(await drift()).toEqual([]);
});

test('does not report a load that is about to be recorded', async () => {
  await recordTwoInvoices();
  const { putFact } = t.archive;
  const [committed, mayContinue] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  Object.assign(t.archive, {
    async putFact(fact: Fact) {
      committed.resolve();
      await mayContinue.promise;
      await putFact(fact);
    },
  });
  const loading = loadCsv(t, aCsv([{}, {}]));
  await committed.promise;
  expect(await drift()).toEqual([]);
  mayContinue.resolve();
  await loading;
  expect(await drift()).toEqual([]);
});

test('reports a load whose fact the archive refused until it is recorded', async () => {
  const { putFact } = t.archive;
  const refused = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  Object.assign(t.archive, { putFact: () => Promise.reject(refused) });
  await expect(loadCsv(t, aCsv())).rejects.toThrow('no space left');
  Object.assign(t.archive, { putFact });
  expect(await drift()).toHaveLength(1);
  expect(await loadCsv(t, aCsv())).toMatchObject({ outcome: 'already_loaded' });
  expect(await Array.fromAsync(t.archive.facts())).toMatchObject([
    { kind: 'load', invoiceId: INVOICE, loadId: 1, version: 1, billingCost: '9.1600' },
  ]);
  expect(await drift()).toEqual([]);
});

test('reports one wrong amount and one lost row as one line each', async () => {
  await loadCsv(t, aCsv([{}, {}]));
  await change('update internal.shipment_rows set billing_cost = 9.17 where row_number = 1');
  expect(await drift()).toEqual(['sum 1111 18.3200']);
  await change('delete from internal.shipment_rows where row_number = 1');
  expect(await drift()).toEqual(['rows 1111 2 in the file', 'sum 1111 18.3200']);
});

test('reports an altered load as one line', async () => {
  await loadCsv(t, aCsv());
  await change('update internal.loads set billing_cost = 9.17');
  expect(await drift()).toEqual(['sum 1111 9.1700']);
});

async function change(statement: string): Promise<void> {
  await t.warehouse.close();
  await runOnFile(join(t.dataDir, 'warehouse.duckdb'), statement);
  await t.reopen();
}

test('reports a missing file and a file whose bytes changed', async () => {
  const [kept, lost] = [aCsv(), aCsv([{}], SECOND)];
  await loadCsv(t, kept);
  await loadCsv(t, lost, { invoiceId: SECOND });
  writeFileSync(await t.archive.localPath(sha256(kept)), kept.toString().replace('9.16', '9.17'));
  rmSync(await t.archive.localPath(sha256(lost)));
  expect((await t.drift()).map(({ rule }) => rule).sort()).toEqual(['file-missing', 'hash']);
});
