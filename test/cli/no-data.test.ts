import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { testFolder } from '../support/folders.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv } from '../warehouse/support.ts';

const folder = testFolder();
const csv = join(folder, 'invoice.csv');
writeFileSync(csv, aCsv([{}, {}]));

const run = (dataDir: string, ...args: readonly string[]) =>
  runCommand(args, { env: { BILLSYNC_DATA_DIR: dataDir } });

test('ends with 3 without a data folder and creates none', async () => {
  const dataDir = join(folder, 'misspelt');
  for (const command of ['snapshot', 'verify']) {
    const { exitCode, stderr } = await run(dataDir, command);
    expect(stderr).toContain(`there is no data folder ${dataDir}`);
    expect(exitCode).toBe(3);
  }
  const checked = await run(dataDir, 'import', csv, '--dry-run', '--json');
  expect(checked).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('checked') });
  expect(existsSync(dataDir)).toBe(false);
});

test.each([
  { name: 'empty', contents: [] },
  { name: 'one-level-too-high', contents: ['billsync'] },
])(
  'verify and rebuild end with 3 in a folder that is $name, and write nothing',
  async ({ name, contents }) => {
    const restored = join(folder, name);
    mkdirSync(restored);
    for (const each of contents) mkdirSync(join(restored, each, 'archive', 'events'), { recursive: true });
    for (const args of [['verify'], ['rebuild'], ['rebuild', '--dry-run'], ['snapshot']]) {
      const { exitCode, stdout, stderr } = await run(restored, ...args);
      expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 3, stdout: '' });
      expect(stderr).toContain('there is neither an archive nor a warehouse');
      expect(stderr).toContain(`BILLSYNC_DATA_DIR, now ${restored}`);
    }
    // The audit log records the attempted rebuild.
    expect(readdirSync(restored).filter((made) => made !== 'user')).toEqual(contents);
  },
);

test('ends with 3 for an empty archive', async () => {
  const restored = join(folder, 'emptied');
  const archive = join(restored, 'archive');
  for (const part of ['events', 'files', 'facts']) mkdirSync(join(archive, part), { recursive: true });
  for (const args of [['rebuild'], ['verify', '--json'], ['rebuild', '--dry-run']]) {
    const { exitCode, stdout, stderr } = await run(restored, ...args);
    expect({ args, exitCode }).toEqual({ args, exitCode: 3 });
    expect(stdout + stderr).not.toContain('no drift');
    expect(stderr).toContain(`the archive is empty: no event, no file\n  ${archive}`);
  }
  expect(await run(restored, 'import', csv)).toMatchObject({ exitCode: 0 });
  expect(await run(restored, 'verify')).toMatchObject({ exitCode: 0 });
});

describe('a damaged', () => {
  const dataDir = join(folder, 'data');
  const published = join(dataDir, 'reports.duckdb');
  beforeAll(async () => {
    expect(await run(dataDir, 'import', csv)).toMatchObject({ exitCode: 0 });
  });

  test('published file ends every reading command with 3 and names the remedy', async () => {
    const whole = readFileSync(published);
    for (const damaged of [Buffer.from('this is no database '.repeat(50)), whole.subarray(0, 8192)]) {
      rmSync(published);
      writeFileSync(published, damaged);
      for (const args of [
        ['report', 'tenants', '--format', 'json'],
        ['invoices', 'list'],
        ['events', 'list'],
        ['explain', '1Z999'],
        ['export', '--output', join(folder, 'export')],
      ]) {
        const { exitCode, stdout, stderr } = await run(dataDir, ...args);
        expect(stderr).toContain(`The published file ${published} is damaged`);
        expect(stderr).toContain('→ `billsync snapshot` publishes it again');
        expect(stderr.trim().split('\n').length).toBeLessThanOrEqual(3);
        expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
      }
    }
  });

  test('warehouse ends with 1 and names the remedy once', async () => {
    const database = join(dataDir, 'warehouse.duckdb');
    writeFileSync(database, 'this is no database '.repeat(50));
    const { exitCode, stderr } = await run(dataDir, 'verify');
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`The warehouse ${database} is damaged`);
    expect(stderr.match(/billsync rebuild/g)).toHaveLength(1);
  });
});
