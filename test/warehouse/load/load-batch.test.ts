import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { LoadOutcome } from '../../../lib/warehouse-requests.ts';
import { Session } from '../../../warehouse/duckdb/session.ts';
import { sql } from '../../../warehouse/duckdb/sql.ts';
import { importFiles } from '../../../warehouse/import/import-files.ts';
import { importDeps } from '../import/support.ts';
import {
  aCsv,
  anEvent,
  archiveCsv,
  aWarehouse,
  type Cells,
  loadArchived,
  type TestWarehouse,
} from '../support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await t.close();
});

const idOf = (n: number): string => `55555555-5555-4555-8555-${`${n}`.padStart(12, '0')}`;
const rowsOf = (n: number): Cells[] =>
  Array.from({ length: 1 + (n % 7) }, () => ({ 'Billing Cost': `${n}.25` }));

/** How often statements of these names were run. */
function countStatements(...names: readonly string[]): () => Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
  const { statement } = Session.prototype;
  const byText = new Map(names.map((name) => [sql(name), name]));
  vi.spyOn(Session.prototype, 'statement').mockImplementation(function (this: Session, text, ...rest) {
    const name = byText.get(text);
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1;
    return statement.call(this, text, ...rest);
  });
  return () => counts;
}

/** The first load is in progress when the others arrive, so these are one batch. */
async function loadTogether(
  loads: readonly (() => Promise<LoadOutcome>)[],
): Promise<PromiseSettledResult<LoadOutcome>[]> {
  return Promise.allSettled(loads.map((load) => load()));
}

async function loadOf(n: number, bytes = aCsv(rowsOf(n), idOf(n))): Promise<() => Promise<LoadOutcome>> {
  const { sha256 } = await archiveCsv(t, bytes);
  return () => loadArchived(t, sha256, { invoiceId: idOf(n) });
}

function outcomes(settled: readonly PromiseSettledResult<LoadOutcome>[]): string[] {
  return settled.map((one) => (one.status === 'fulfilled' ? one.value.outcome : String(one.reason.code)));
}

function loaded(): Promise<readonly unknown[]> {
  return t.query(
    `select invoice_id::varchar as id, count(*)::integer as rows, sum(billing_cost)::varchar as cost,
       list(row_number order by row_number)::varchar as numbers
     from shipments group by all order by id`,
  );
}

const expected = (n: number): object => ({
  id: idOf(n),
  rows: rowsOf(n).length,
  cost: (rowsOf(n).length * (n + 0.25)).toFixed(4),
  numbers: `[${rowsOf(n)
    .map((_, index) => index + 1)
    .join(', ')}]`,
});

describe('loads that wait together', () => {
  test('use one statement and one transaction, with row numbers per file', async () => {
    const numbers = Array.from({ length: 40 }, (_, n) => n + 1);
    const loads: (() => Promise<LoadOutcome>)[] = [];
    for (const n of numbers) loads.push(await loadOf(n));
    const counts = countStatements('stage-batch', 'insert-one-pass', 'read-back');
    expect(new Set(outcomes(await loadTogether(loads)))).toEqual(new Set(['loaded']));
    const { 'stage-batch': batches = 0, 'insert-one-pass': alone = 0 } = counts();
    expect(batches + alone).toBeLessThanOrEqual(4);
    expect(counts()).toMatchObject({ 'read-back': batches + alone });
    expect(await loaded()).toEqual(numbers.map(expected));
    expect(await t.drift()).toEqual([]);
  });

  test('load although others in the batch are refused, each with its reason', async () => {
    await t.record([anEvent('invoice_voided', { header: { invoiceId: idOf(2) } })]);
    await t.record([
      anEvent('invoice_created', {
        header: { invoiceId: idOf(3), invoiceTotalAmount: '1', currencyCode: 'USD' },
      }),
    ]);
    const broken = aCsv([{}, { 'Billing Cost': '1.23456' }, {}], idOf(4));
    const foreign = aCsv([{}, { 'Invoice ID': idOf(9) }], idOf(5));
    const noCurrency = aCsv([{ 'Currency Code': 'QQQ' }], idOf(6));
    const unproved = await archiveCsv(t, aCsv(rowsOf(3), idOf(3)));
    const loads = [
      await loadOf(1),
      await loadOf(2),
      () => loadArchived(t, unproved.sha256, { invoiceId: idOf(3), announcedSha256: null, source: 'export' }),
      await loadOf(4, broken),
      await loadOf(5, foreign),
      await loadOf(6, noCurrency),
      await loadOf(7),
      await loadOf(8),
    ];
    const counts = countStatements('stage-batch');
    const settled = await loadTogether(loads);
    expect(outcomes(settled)).toEqual([
      ...['loaded', 'voided', 'contradicted', 'rejected', 'rejected', 'rejected', 'loaded', 'loaded'],
    ]);
    expect(settled[3]).toMatchObject({
      value: { findings: [{ row: 2, column: 'Billing Cost', rule: 'amount' }] },
    });
    expect(settled[4]).toMatchObject({ value: { findings: [{ row: 2, rule: 'invoice-id' }] } });
    expect(settled[5]).toMatchObject({ value: { findings: [{ row: 1, rule: 'currency' }] } });
    expect(counts()['stage-batch']).toBeGreaterThan(0);
    expect(await loaded()).toEqual([1, 7, 8].map(expected));
  });

  test('refuse a file whose row count differs from the byte scan', async () => {
    const loads = [await loadOf(1), await loadOf(2), await loadOf(3), await loadOf(4)];
    const { sha256 } = await archiveCsv(t, aCsv(rowsOf(3), idOf(3)));
    const description = join(t.dataDir, 'archive', 'files', sha256.slice(0, 2), `${sha256}.json`);
    const stored = JSON.parse(readFileSync(description, 'utf8'));
    stored.scan.records += 1;
    writeFileSync(description, JSON.stringify(stored));
    expect(outcomes(await loadTogether(loads))).toEqual(['loaded', 'loaded', 'misread', 'loaded']);
    expect(await loaded()).toEqual([1, 2, 4].map(expected));
  });

  test('load without the one file that DuckDB cannot read', async () => {
    const loads = [];
    for (let n = 1; n <= 8; n += 1) loads.push(await loadOf(n));
    const { sha256 } = await archiveCsv(t, aCsv(rowsOf(6), idOf(6)));
    const csv = join(t.dataDir, 'archive', 'files', sha256.slice(0, 2), `${sha256}.csv`);
    const bytes = readFileSync(csv);
    // The same length, and not CSV.
    writeFileSync(
      csv,
      Buffer.concat([bytes.subarray(0, -40), Buffer.from('"'.repeat(37)), Buffer.from('x\r\n')]),
    );
    const settled = outcomes(await loadTogether(loads));
    expect(settled.filter((_, index) => index !== 5)).toEqual(Array(7).fill('loaded'));
    expect(settled[5]).not.toBe('loaded');
    expect(await loaded()).toEqual([1, 2, 3, 4, 5, 7, 8].map(expected));
  });
});

describe('importFiles', () => {
  function fileOf(name: string, bytes: Buffer): { readonly path: string; readonly invoiceId: null } {
    const path = join(t.dataDir, name);
    writeFileSync(path, bytes);
    return { path, invoiceId: null };
  }

  test('returns results in the order of the files and quarantines the refused ones', async () => {
    const requests = [
      ...[1, 2, 3].map((n) => fileOf(`${n}.csv`, aCsv(rowsOf(n), idOf(n)))),
      fileOf('4.csv', aCsv([{ 'Billing Cost': 'x' }], idOf(4))),
      ...[5, 6].map((n) => fileOf(`${n}.csv`, aCsv(rowsOf(n), idOf(n)))),
    ];
    const done: number[] = [];
    const shared = await importDeps(t);
    const imported = await importFiles({ ...shared, onDone: (count) => done.push(count) }, requests);
    expect(imported.map(({ invoiceId }) => invoiceId)).toEqual([1, 2, 3, 4, 5, 6].map(idOf));
    expect(imported.map(({ outcome }) => outcome.outcome)).toEqual([
      ...['loaded', 'loaded', 'loaded', 'rejected', 'loaded', 'loaded'],
    ]);
    expect(done).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await shared.quarantine.list()).toMatchObject([{ invoiceId: idOf(4), code: 'csv-rejected' }]);
    expect(await loaded()).toEqual([1, 2, 3, 5, 6].map(expected));
  });

  test('loads the files of one invoice in order, so that the last one counts', async () => {
    const versions = ['1', '2', '3', '4'].map((cost) =>
      fileOf(`${cost}.csv`, aCsv([{ 'Billing Cost': cost }], idOf(1))),
    );
    const imported = await importFiles(await importDeps(t), [
      fileOf('other.csv', aCsv([{}], idOf(2))),
      ...versions,
    ]);
    expect(imported.slice(1).map(({ outcome }) => outcome)).toMatchObject(
      [1, 2, 3, 4].map((version) => ({ version })),
    );
    expect(await t.warehouse.invoice(idOf(1))).toMatchObject({ loadedVersion: 4, billingCost: '4.0000' });
  });
});
