import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv } from '../warehouse/support.ts';

const folder = mkdtempSync(join(tmpdir(), 'billsync-damaged-'));
const dataDir = join(folder, 'data');
const published = join(dataDir, 'reports.duckdb');
const env = { BILLSYNC_DATA_DIR: dataDir };
let whole: Buffer;

beforeAll(async () => {
  const csv = join(folder, 'invoice.csv');
  writeFileSync(csv, aCsv([{}, {}]));
  expect(await runCommand(['import', csv], { env })).toMatchObject({ exitCode: 0 });
  whole = readFileSync(published);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a published file that is damaged', () => {
  const looks = [
    ['report', 'tenants', '--format', 'json'],
    ['invoices', 'list'],
    ['events', 'list'],
    ['explain', '1Z999'],
    ['export', '--output', join(folder, 'export')],
  ];

  test.each([
    ['no database any more', () => Buffer.from('this is no database '.repeat(50))],
    ['cut short', () => whole.subarray(0, 8192)],
  ])('ends every look with 3 and says what to do: %s', async (_how, made) => {
    rmSync(published, { force: true });
    writeFileSync(published, made());
    for (const { exitCode, stdout, stderr } of await Promise.all(
      looks.map((look) => runCommand(look, { env })),
    )) {
      expect(stderr).toContain(`The published file ${published} is damaged`);
      expect(stderr).toContain('→ `billsync snapshot` publishes it again');
      expect(stderr.trim().split('\n').length).toBeLessThanOrEqual(3);
      expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
    }
  });
});

describe('a warehouse that is damaged', () => {
  test('ends with 1 and names the remedy once', async () => {
    const database = join(dataDir, 'warehouse.duckdb');
    const before = readFileSync(database);
    writeFileSync(database, 'this is no database '.repeat(50));
    const { exitCode, stderr } = await runCommand(['verify'], { env });
    writeFileSync(database, before);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`The warehouse ${database} is damaged`);
    expect(stderr.match(/billsync rebuild/g)).toHaveLength(1);
  });
});
