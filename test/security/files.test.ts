import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { CSV_HEADERS } from '../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../lib/wire/csv-scanner.ts';
import { readBounded } from '../../warehouse/csv/read-in-thread.ts';
import { rejection } from '../../warehouse/import/refused-files.ts';
import { refusedByScan } from '../../warehouse/load/rejections.ts';
import { LoadAttempts, MAX_CRASHES } from '../../warehouse/load-invoice.ts';
import { attack } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { testProgram } from '../support/processes/test-program.ts';
import { aCsv, archiveCsv, aWarehouse, INVOICE, loadArchived, manyRecords } from '../warehouse/support.ts';

const folder = testFolder();

const NEVER = new Promise<never>(() => {});
const HEADER = `${CSV_HEADERS.join(',')}\r\n`;
let files = 0;

function aFile(bytes: Buffer): string {
  files += 1;
  const path = join(folder, `${files}.csv`);
  writeFileSync(path, bytes);
  return path;
}

function scanOf(bytes: Buffer) {
  const scanner = new CsvScanner();
  for (let at = 0; at < bytes.length; at += 65_536) scanner.push(bytes.subarray(at, at + 65_536));
  return scanner.end();
}

describe('explaining a refused file', () => {
  const MEGABYTES = 4 << 20;
  test.each([
    ['short rows without end', Buffer.alloc(MEGABYTES, 'a,b\r\n'), 'field-count'],
    ['a line of commas', Buffer.alloc(MEGABYTES, ','), 'record-too-big'],
    ['a field without end', Buffer.alloc(MEGABYTES, 'x'), 'record-too-big'],
    [
      'a quote that never closes',
      Buffer.concat([Buffer.from('"'), Buffer.alloc(MEGABYTES, 'x')]),
      'open-quote',
    ],
    ['blank lines', Buffer.alloc(MEGABYTES, '\r\n'), 'blank-line'],
    ['no text', Buffer.alloc(MEGABYTES, 0), 'nul'],
  ])('never reads again what the byte scan could not bound: %s', async (_, body, rule) => {
    const bytes = Buffer.concat([Buffer.from(HEADER), body]);
    const file = { sha256: '', sizeBytes: bytes.length, scan: scanOf(bytes) };
    // No such file, so a reader would fail.
    const csvPath = join(folder, 'never-written.csv');
    const refused = await refusedByScan({ file, csvPath, invoiceId: INVOICE });
    expect(refused.findings.map((finding) => finding.rule)).toContain(rule);
    attack('files: dear to explain', { tries: 1, held: refused.findings.length <= 100 ? 1 : 0 });
  });

  test("refuses records that together exceed DuckDB's limit", () => {
    const record = (bytes: number): Buffer => Buffer.from(`${','.repeat(13)}${'x'.repeat(bytes)}\r\n`);
    const rulesOf = (records: number, bytes: number): readonly string[] =>
      scanOf(Buffer.concat([Buffer.from(HEADER), ...Array(records).fill(record(bytes))])).findings.map(
        ({ rule }) => rule,
      );
    expect(rulesOf(30, 1_990_000)).toEqual([]);
    expect(rulesOf(40, 1_990_000)).toEqual(['record-too-big']);
    // As many bytes, in records of which DuckDB holds fewer at once.
    expect(rulesOf(2_048, 32_000)).toEqual([]);
    expect(rulesOf(4_096, 20_000)).toEqual([]);
    attack('files: many long records', { tries: 1, held: 1 });
  });

  test('ends after its time limit', async () => {
    const csvPath = aFile(manyRecords(5_000));
    const reading = { csvPath, invoiceId: INVOICE, skipsRagged: false };
    const read = await readBounded(reading, { threadFromBytes: 0, timeMs: 1 });
    expect(read).toEqual({ stopped: 'it took longer than 0.001 s' });
    attack('files: take too long or too much memory', { tries: 1, held: 'stopped' in read ? 1 : 0 });
  });

  test('ends at its memory limit, and the process continues', async () => {
    const csvPath = aFile(Buffer.from(HEADER + ','.repeat(1_900_000)));
    const reading = { csvPath, invoiceId: INVOICE, skipsRagged: true };
    const read = await readBounded(reading, { threadFromBytes: 0, memoryMb: 24 });
    expect(read).toEqual({ stopped: 'it took more than 24 MB of memory' });
    attack('files: take too long or too much memory', { tries: 1, held: 'stopped' in read ? 1 : 0 });
  });
});

describe('a file that ends the process while it is loaded', () => {
  const run = promisify(execFile);

  test('is skipped after three attempts, the others are loaded, and a person can retry it', async () => {
    const t = await aWarehouse();
    const deadly = await archiveCsv(t, aCsv());
    const honest = await archiveCsv(t, aCsv([{}], '22222222-2222-4222-8222-222222222222'));
    await t.warehouse.close();
    for (let crash = 1; crash < MAX_CRASHES; crash += 1) {
      // In flight for ever, as a process leaves it that has ended.
      void new LoadAttempts(t.dataDir).run({ invoiceId: INVOICE, sha256: deadly.sha256 }, () => NEVER);
    }
    const args = [testProgram('security/deadly-load.ts'), t.dataDir, deadly.sha256];
    await expect(run(process.execPath, args)).rejects.toMatchObject({ signal: 'SIGKILL' });

    const u = await aWarehouse({ settings: t.settings });
    const invoiceId = '22222222-2222-4222-8222-222222222222';
    expect(await loadArchived(u, honest.sha256, { invoiceId })).toMatchObject({ outcome: 'loaded' });
    const outcome = await loadArchived(u, deadly.sha256);
    expect(outcome).toMatchObject({ outcome: 'rejected', findings: [{ rule: 'ends-the-process' }] });
    expect(outcome.outcome === 'rejected' && rejection(outcome)).toMatch(
      /not loaded any more: billsync ended 3 times while it loaded the file.*invoices retry/,
    );
    attack('files: end the process', { tries: 1, held: outcome.outcome === 'rejected' ? 1 : 0 });
    await u.warehouse.clearNeedsAttention(INVOICE);
    expect(await loadArchived(u, deadly.sha256)).toMatchObject({ outcome: 'loaded' });
    await u.close();
    await t.archive.close();
  });

  test('is found among files that were loaded together', async () => {
    const attempts = new LoadAttempts(mkdtempSync(join(folder, 'marks-')));
    const [one, other] = [
      { invoiceId: INVOICE, sha256: 'a' },
      { invoiceId: INVOICE, sha256: 'b' },
    ];
    // Both in flight when the process ends: neither answers.
    void attempts.run(one, () => NEVER);
    void attempts.run(other, () => NEVER);
    let atWork = 0;
    const alone = async (): Promise<number> => {
      atWork += 1;
      await new Promise(setImmediate);
      const seen = atWork;
      atWork -= 1;
      return seen;
    };
    expect(await Promise.all([attempts.run(one, alone), attempts.run(other, alone)])).toEqual([1, 1]);
  });

  test('is not counted for a reported error', async () => {
    const attempts = new LoadAttempts(mkdtempSync(join(folder, 'marks-')));
    const file = { invoiceId: INVOICE, sha256: 'a' };
    for (let attempt = 0; attempt <= MAX_CRASHES; attempt += 1) {
      await expect(attempts.run(file, () => Promise.reject(new Error('no room')))).rejects.toThrow('no room');
    }
    expect(await attempts.run(file, async () => 'done')).toBe('done');
  });
});

test('reads a data folder that every user may write to with a warning, and writes nothing', async () => {
  const folder = testFolder();
  const dataDir = join(folder, 'data');
  const env = { BILLSYNC_DATA_DIR: dataDir };
  const csv = join(folder, 'invoice.csv');
  writeFileSync(csv, aCsv([{}]));
  expect(await runCommand(['import', csv], { env })).toMatchObject({ exitCode: 0 });
  chmodSync(dataDir, 0o777);
  for (const look of [
    ['report', 'tenants'],
    ['invoices', 'list'],
    ['sql', 'select 1 as a'],
  ]) {
    const { exitCode, stderr } = await runCommand(look, { env });
    expect({ look, exitCode }).toEqual({ look, exitCode: 0 });
    expect(stderr).toContain('warning: every user of this machine may write to the data folder');
  }
  const writes = [['import', csv], ['snapshot'], ['verify'], ['rebuild'], ['dashboard']];
  for (const write of writes) {
    const { exitCode, stderr } = await runCommand(write, { env });
    expect({ write, exitCode }).toEqual({ write, exitCode: 2 });
    expect(stderr).toContain('every user of this machine may write to the data folder');
  }
  attack('writing to a data folder that is open to all', { tries: writes.length, held: writes.length });
});
