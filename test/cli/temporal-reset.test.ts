import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { billsync } from '../support/processes/billsync.ts';
import { anEvent, aWarehouse } from '../warehouse/support.ts';

test('moves a damaged database aside on request and sends every archived event again', async () => {
  const t = await aWarehouse({ now: () => new Date() });
  try {
    await t.record([anEvent('invoice_finalized'), anEvent('invoice_voided')]);
    await t.warehouse.close();
    const folder = join(t.dataDir, 'temporal');
    const database = join(folder, 'temporal.db');
    mkdirSync(folder);
    writeFileSync(database, 'damaged'.repeat(2_000));
    const run = (...args: readonly string[]) => billsync(args, { env: { BILLSYNC_DATA_DIR: t.dataDir } });
    const refused = await run('temporal');
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(database)]);
    expect(refused.stderr).toContain('`billsync temporal reset`');
    const reset = await run('temporal', 'reset');
    expect([reset.exitCode, reset.stderr]).toEqual([0, expect.stringContaining('sent 2 events again')]);
    const [aside = ''] = readdirSync(join(folder, 'aside'));
    expect(readFileSync(join(folder, 'aside', aside), 'utf8')).toMatch(/^damaged/);
  } finally {
    await t.close();
  }
});
