import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { dryRunRebuild, rebuildWarehouse } from '../../warehouse/open-warehouse.ts';
import type { RebuildOptions, RebuildOutcome } from '../../warehouse/rebuild.ts';
import { RebuildLossError } from '../../warehouse/rebuild.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  INVOICE,
  loadCsv,
  queryFile,
  sha256,
  silent,
  type TestWarehouse,
} from './support.ts';

const SECOND = '22222222-2222-4222-8222-222222222222';
const FIRST_CSV = aCsv();
const SECOND_CSV = aCsv([{}, {}], SECOND);

let t: TestWarehouse;
let published: string;
beforeEach(async () => {
  t = await aWarehouse();
  const event = anEvent('invoice_finalized');
  await t.record([event]);
  await loadCsv(t, FIRST_CSV);
  await loadCsv(t, SECOND_CSV, { invoiceId: SECOND });
  published = (await t.warehouse.publish()).path;
});
afterEach(() => t.close());

const options = (over: Partial<RebuildOptions> = {}): RebuildOptions => ({
  settings: t.settings,
  archive: t.archive,
  log: silent,
  ...over,
});

const pathOf = (csv: Buffer): Promise<string> => t.archive.localPath(sha256(csv));
const shipments = (): Promise<unknown> =>
  queryFile(
    published,
    'select invoice_number, count(*)::integer as n from shipments group by all order by all',
  );

/** By their hash, since comparing megabytes byte by byte takes ten seconds. */
const bytesOfWarehouse = (): string => sha256(readFileSync(join(t.dataDir, 'warehouse.duckdb')));

/** Expects that a rebuild is refused and changes nothing. @returns its outcome */
async function refused(over: Partial<RebuildOptions> = {}): Promise<RebuildOutcome> {
  const before = [await shipments(), bytesOfWarehouse()];
  const error: unknown = await rebuildWarehouse(options(over)).catch((thrown: unknown) => thrown);
  if (!(error instanceof RebuildLossError)) throw new Error(`It was not refused: ${error}`);
  expect([await shipments(), bytesOfWarehouse()]).toEqual(before);
  expect(existsSync(join(t.dataDir, 'warehouse.duckdb.rebuilding'))).toBe(false);
  expect(existsSync(join(t.dataDir, 'run', 'aside'))).toBe(false);
  expect(await dryRunRebuild(options(over))).toEqual(error.outcome);
  return error.outcome;
}

test('reports missing and damaged files, and keeps the warehouse until the loss is accepted', async () => {
  writeFileSync(await pathOf(FIRST_CSV), FIRST_CSV.toString().replace('9.16', '9.17'));
  rmSync(await pathOf(SECOND_CSV));
  await t.warehouse.close();
  const losses = [
    { invoiceId: INVOICE, loadId: 1, sha256: sha256(FIRST_CSV), why: 'its file in the archive is damaged' },
    { invoiceId: SECOND, loadId: 2, sha256: sha256(SECOND_CSV), why: 'the archive lacks its file' },
  ];
  expect(await refused()).toEqual({
    ...{ events: 1, loads: 0, invoices: 2, shipments: 0 },
    ...{ losses, holdsLess: true },
  });
  const rebuilt = await rebuildWarehouse(options({ acceptLoss: true }));
  expect(rebuilt).toMatchObject({ loads: 0, losses, publication: { invoices: 2, shipments: 0 } });
  expect(rebuilt.movedAside && existsSync(rebuilt.movedAside)).toBe(true);
});

test('marks an invoice without its file for attention until the file is back', async () => {
  const path = await pathOf(SECOND_CSV);
  rmSync(path);
  await t.warehouse.close();
  await rebuildWarehouse(options({ acceptLoss: true }));
  let warehouse = await t.reopen();
  expect(await warehouse.invoice(SECOND)).toMatchObject({
    state: 'needs_attention',
    reasonCode: 'archive-damaged',
    reason: expect.stringContaining(`Put file ${sha256(SECOND_CSV)} back`),
  });
  const { drift } = await warehouse.verify({ full: true });
  expect(drift.map(({ rule }) => rule)).toEqual(['load-missing']);
  await warehouse.close();
  writeFileSync(path, SECOND_CSV);
  expect(await rebuildWarehouse(options())).toMatchObject({ loads: 2, losses: [], holdsLess: false });
  warehouse = await t.reopen();
  expect(await warehouse.invoice(SECOND)).toMatchObject({ state: 'loaded', reasonCode: null });
  expect((await warehouse.verify({ full: true })).drift).toEqual([]);
});

test('reports each load whose fact is gone and replaces nothing', async () => {
  await t.warehouse.close();
  rmSync(join(t.dataDir, 'archive/facts/journal.ndjson'));
  const { losses, ...made } = await refused();
  expect(made).toEqual({ events: 1, loads: 0, invoices: 1, shipments: 0, holdsLess: true });
  const why = 'the archive has no fact of this load';
  expect(losses).toEqual([
    { invoiceId: INVOICE, loadId: 1, sha256: sha256(FIRST_CSV), why },
    { invoiceId: SECOND, loadId: 2, sha256: sha256(SECOND_CSV), why },
  ]);
});

test('replaces nothing from the wrong archive', async () => {
  await t.warehouse.close();
  const archive = await openFolderArchive(join(t.dataDir, 'another'));
  const { losses } = await refused({ archive });
  expect(losses.map(({ invoiceId, why }) => [invoiceId, why])).toEqual([
    [INVOICE, 'the archive has no fact of this load'],
    [SECOND, 'the archive has no fact of this load'],
    [null, 'the archive lacks 1 event'],
  ]);
});

test('reports in a dry run what a rebuild would make, and replaces nothing', async () => {
  await expect(dryRunRebuild(options())).rejects.toMatchObject({ code: 'warehouse-locked' });
  await t.warehouse.close();
  const before = await shipments();
  expect(await dryRunRebuild(options())).toEqual({
    ...{ events: 1, loads: 2, invoices: 2, shipments: 3 },
    ...{ losses: [], holdsLess: false },
  });
  expect(await shipments()).toEqual(before);
  expect(existsSync(join(t.dataDir, 'run', 'aside'))).toBe(false);
  expect(existsSync(join(t.dataDir, 'warehouse.duckdb.rebuilding'))).toBe(false);
});

test('counts a lost and reloaded file once, also after the next rebuild', async () => {
  rmSync(await pathOf(SECOND_CSV));
  await t.warehouse.close();
  await rebuildWarehouse(options({ acceptLoss: true }));
  await t.reopen();
  expect(await loadCsv(t, SECOND_CSV, { invoiceId: SECOND })).toMatchObject({ outcome: 'loaded' });
  await t.warehouse.close();
  const { publication } = await rebuildWarehouse(options());
  expect(publication).toMatchObject({ invoices: 2, shipments: 3 });
  await t.reopen();
  expect(await t.warehouse.invoice(SECOND)).toMatchObject({ state: 'loaded', shipments: 2 });
  expect(await t.drift()).toEqual([]);
});
