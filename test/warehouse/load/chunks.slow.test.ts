import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RECORDS_PER_CUT } from '../../../lib/wire/csv-scanner.ts';
import { temporaryNameOf } from '../../support/folders.ts';
import { useAllThreads } from '../../support/processes/one-duckdb-thread.ts';
import {
  aCsv,
  archiveCsv,
  aWarehouse,
  HEADER_BYTES,
  loadArchived,
  loadCsv,
  makeDataDir,
  manyRecords,
  settingsFor,
  type TestWarehouse,
} from '../support.ts';

useAllThreads();

const LARGE = 2 * RECORDS_PER_CUT + 240;
/** Fewer than usual, for what does not depend on it: two chunks again, the second of them short. */
const PER_CUT = 4_000;
const CUT_ONCE = PER_CUT + 240;

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await t.close();
});

// Where memory is short the file has to be large; elsewhere it is enough that it is cut.
describe.each([
  ['memory enough', null, 20_000],
  ['little memory', '96MB', RECORDS_PER_CUT],
])('a large file, %s', (_, warehouseMemoryLimit, recordsPerCut) => {
  /** Three chunks, the last of them short. */
  const RECORDS = 2 * recordsPerCut + 240;
  beforeEach(async () => {
    await t.close();
    t = await aWarehouse({
      settings: { ...settingsFor(makeDataDir()), warehouseMemoryLimit },
      recordsPerCut,
    });
  });

  test('keeps the order of rows and removes its chunks', async () => {
    const rows = Array.from({ length: 1_000 }, (_row, index) => ({ 'Tracking Number': `n${index}` }));
    expect(await loadCsv(t, manyRecords(RECORDS, rows))).toMatchObject({
      outcome: 'loaded',
      shipments: RECORDS,
    });
    const wrong = `select count(*)::integer as n, count(distinct row_number)::integer as numbers
      from shipments where tracking_number = 'n' || ((row_number - 1) % 1000)`;
    expect(await t.query(wrong)).toEqual([{ n: RECORDS, numbers: RECORDS }]);
    expect(leftInTmp()).toEqual([]);
  });

  test('is refused for one bad cell without leaving a row', async () => {
    const last = aCsv([{ 'Billing Cost': '1e3' }]).subarray(HEADER_BYTES);
    const outcome = await loadCsv(t, Buffer.concat([manyRecords(recordsPerCut), last]));
    expect(outcome).toMatchObject({
      outcome: 'rejected',
      findings: [{ row: recordsPerCut + 1, rule: 'amount', value: '1e3' }],
    });
    expect(await t.query('select row_number from shipments')).toEqual([]);
    expect(leftInTmp()).toEqual([]);
  });

  test('loads although DuckDB cannot split it', async () => {
    // Wherever a thread begins inside this, it takes text for records.
    const text = `${',,,,,,,,,,,,,\r\n'.repeat(6)}end`;
    const bytes = manyRecords(LARGE, [{ 'Service Level': text }, { 'Service Level': `"\r\n"` }]);
    const path = join(t.dataDir, 'parallel.csv');
    writeFileSync(path, bytes);
    const columns = Array.from({ length: 14 }, (_column, index) => `'c${index}': 'VARCHAR'`).join();
    const inParallel = t.query(
      `select * from read_csv('${path}', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"',
        columns = {${columns}})`,
    );
    await expect(inParallel).rejects.toThrow(/CSV/);
    expect(await loadCsv(t, bytes)).toMatchObject({ outcome: 'loaded', shipments: LARGE });
    expect(await t.drift()).toEqual([]);
  });
});

describe('a file that is cut after fewer records', () => {
  beforeEach(async () => {
    await t.close();
    t = await aWarehouse({ recordsPerCut: PER_CUT });
  });

  test('reads a chunk whose first line end is inside quotes', async () => {
    const rows = Array.from({ length: 1_000 }, () => ({ 'Service Level': 'by\nair' }));
    expect(await loadCsv(t, manyRecords(CUT_ONCE, rows))).toMatchObject({
      outcome: 'loaded',
      shipments: CUT_ONCE,
    });
    const levels = 'select service_level, count(*)::integer as n from shipments group by all';
    expect(await t.query(levels)).toEqual([{ service_level: 'by\nair', n: CUT_ONCE }]);
  });

  test.each<[string, (cuts: readonly number[]) => readonly number[]]>([
    ['amid a record', ([first = 0, second = 0, ...more]) => [first, second + 3, ...more]],
    ['each a record late', ([first = 0, ...more]) => [first, ...more.map((cut) => cut + recordBytes())]],
    ['one too few', ([first = 0]) => [first]],
  ])('cuts that are wrong load nothing: %s', async (_, changed) => {
    const { sha256 } = await archiveCsv(t, manyRecords(CUT_ONCE));
    changeScan(sha256, ({ cuts = [], ...scan }) => ({ ...scan, cuts: changed(cuts) }));
    await expect(loadArchived(t, sha256)).rejects.toMatchObject({ code: 'misread' });
    expect(await t.query('select row_number from shipments')).toEqual([]);
    expect(leftInTmp()).toEqual([]);
  });
});

test('removes the chunks of a killed load when the warehouse is opened', async () => {
  const left = join(t.dataDir, 'run', 'tmp', temporaryNameOf(4_194_304, 'a'.repeat(16)));
  mkdirSync(left);
  writeFileSync(join(left, '0.csv'), 'x');
  await t.reopen();
  expect(leftInTmp()).toEqual([]);
});

function recordBytes(): number {
  return aCsv().length - HEADER_BYTES;
}

function leftInTmp(): readonly string[] {
  return readdirSync(join(t.dataDir, 'run', 'tmp'));
}

interface Scan {
  readonly cuts?: readonly number[];
}

/** In the archive, where it lies beside its file. */
function changeScan(sha256: string, change: (scan: Scan) => Scan): void {
  const path = join(t.dataDir, 'archive', 'files', sha256.slice(0, 2), `${sha256}.json`);
  const file = JSON.parse(readFileSync(path, 'utf8')) as { scan: Scan };
  writeFileSync(path, JSON.stringify({ ...file, scan: change(file.scan) }));
}
