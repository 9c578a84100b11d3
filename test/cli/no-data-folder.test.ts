/** A command that only looks, or checks, makes no data folder where there is none. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCommand } from '../support/processes/run-command.js';
import { aCsv } from '../warehouse/support.js';

const folder = mkdtempSync(join(tmpdir(), 'billsync-no-folder-'));
const dataDir = join(folder, 'misspelt');
const env = { BILLSYNC_DATA_DIR: dataDir };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('snapshot and verify end with 3 and name the folder; a rehearsed import checks the file; none is made', async () => {
  const csv = join(folder, 'invoice.csv');
  writeFileSync(csv, aCsv());
  const [snapshot, verify, rehearsed] = await Promise.all([
    runCommand(['snapshot'], { env }),
    runCommand(['verify'], { env }),
    runCommand(['import', csv, '--dry-run', '--json'], { env }),
  ]);
  for (const { exitCode, stderr } of [snapshot, verify]) {
    expect(stderr).toContain(`there is no data folder ${dataDir}`);
    expect(exitCode).toBe(3);
  }
  expect(rehearsed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('checked') });
  expect(existsSync(dataDir)).toBe(false);
});
