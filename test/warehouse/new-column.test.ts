/** A column that the service adds is one entry in lib/wire/csv-file.ts: nothing else is edited for a file of it to load. */

import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folders.ts';
import { aCsv, aWarehouse, loadCsv } from './support.ts';

const ROOT = join(import.meta.dirname, '../..');
const copy = testFolder();

const ENTRY = `{ header: 'Fuel Surcharge', rule: 'amount', isRequired: false, meaning: '…', unitIn: 'Currency Code', since: 2 }`;

function copyOfTheCode(): void {
  for (const part of ['archive', 'lib', 'warehouse', 'test/warehouse', 'package.json']) {
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const path = join(copy, 'lib/wire/csv-file.ts');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace('] as const satisfies readonly Entry[]', `${ENTRY},\n$&`));
}

test('a fifteenth column is one entry: files with it load, files without it still load, and what was loaded stays proved', async () => {
  const t = await aWarehouse();
  await loadCsv(t, aCsv());
  await t.warehouse.close();
  copyOfTheCode();

  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(copy, 'test/warehouse/after-a-new-column.ts'), t.dataDir],
    { encoding: 'utf8', cwd: copy },
  );
  rmSync(t.dataDir, { recursive: true, force: true });

  expect(stderr).toBe('');
  const row = (tracking_number: string, fuel_surcharge: string | null) => ({
    ...{ tracking_number, fuel_surcharge, added_columns: null },
  });
  expect(JSON.parse(stdout)).toEqual({
    outcomes: ['loaded', 'loaded', 'rejected'],
    drift: [],
    rows: [row('1Z0', null), row('1Z0', '0.2500'), row('1Z1', null), row('1Z0', null), row('1Z1', null)],
  });
});
