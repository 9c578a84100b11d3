/**
 * A writer of a lake to run many of, and to kill: opens the warehouse that `plan.json` names and loads its invoices in
 * an order of its own. Every line on stdout was promised: what it names is committed.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { openFolderArchive } from '../../../archive/folder-archive.ts';
import { openWarehouse } from '../../../warehouse/open-warehouse.ts';
import type { LakePlan } from './lake-chaos.ts';

const [dataDir = '', seedText = '1'] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(join(dataDir, 'plan.json'), 'utf8')) as LakePlan;
let state = Number(seedText);
const below = (limit: number): number => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
};

const log = pino({ level: 'error' }, process.stderr);
const archive = await openFolderArchive(plan.archive);
const settings = { ...plan.settings, dataDir };
const warehouse = await openWarehouse({ settings, archive, log });
process.stdout.write('ready\n');
// All begin together, so that they meet.
await new Promise((resolve) => process.stdin.once('data', resolve));

const order = plan.invoices.map((invoice) => ({ invoice, at: below(1_000_000) }));
order.sort((a, b) => a.at - b.at);
const load = async (): Promise<void> => {
  for (let next = order.pop(); next !== undefined; next = order.pop()) {
    const { invoiceId, sha256, isVoided } = next.invoice;
    const source = { source: 'event', announcedSha256: sha256, eventId: null, workflowRunId: null } as const;
    const { outcome } = await warehouse.load({ invoiceId, sha256, ...source });
    process.stdout.write(`${outcome} ${invoiceId}\n`);
    if (!isVoided) continue;
    await warehouse.voidInvoice(invoiceId);
    process.stdout.write(`voided ${invoiceId}\n`);
  }
};
await Promise.all([load(), load()]);
await warehouse.close();
await archive.close();
process.stdin.destroy();
