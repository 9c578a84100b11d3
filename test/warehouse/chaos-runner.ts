/**
 * A writer to be killed: opens the warehouse of a folder and loads, voids and publishes the files of `plan.json` at
 * random, without end. Every line on stdout is a promise: its load or void is committed.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { Session } from '../../warehouse/duckdb/session.ts';
import { startPublisher } from '../../warehouse/publication-loop.ts';
import { openOrRebuild } from './open-or-rebuild.ts';
import { settingsFor } from './support.ts';

interface Planned {
  readonly invoiceId: string;
  readonly files: readonly string[];
}
interface Plan {
  readonly invoices: readonly Planned[];
  readonly large: readonly Planned[];
}

const [dataDir = '', seedText = '1', mode = 'mixed'] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(join(dataDir, 'plan.json'), 'utf8')) as Plan;
const LOADERS = 8;
let state = Number(seedText);
const below = (limit: number): number => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
};

const log = pino({ level: 'error' }, process.stderr);
const archive = await openFolderArchive(join(dataDir, 'archive'));
const { warehouse, wasDamaged } = await openOrRebuild({
  settings: settingsFor(dataDir),
  archive,
  log,
  // Without the reserve that protects DuckDB from a full disk, since the disk has to become full.
  reservedBytes: 0,
  onFatal: () => process.exit(9),
});
const publisher = startPublisher(warehouse, { log, quietMs: 20, maxDelayMs: 200 });
if (wasDamaged) process.stdout.write('rebuilt\n');
process.stdout.write('ready\n');

// Prints the begin and the end of a batch, so that the killing process knows whether one was interrupted.
const staged = new WeakSet<Session>();
const { once, statement } = Session.prototype;
Session.prototype.once = function (name, params) {
  if (name === 'stage-batch') {
    staged.add(this);
    process.stdout.write('batch-begins\n');
  }
  return once.call(this, name, params);
};
Session.prototype.statement = async function (text, params) {
  const rows = await statement.call(this, text, params);
  if (/^(?:commit|rollback)$/.test(text) && staged.delete(this)) process.stdout.write('batch-ends\n');
  return rows;
};

const loader = async (): Promise<void> => {
  for (;;) {
    const among = plan.large.length > 0 && below(20) === 0 ? plan.large : plan.invoices;
    const { invoiceId, files } = among[below(among.length)] ?? { invoiceId: '', files: [] };
    const sha256 = files[below(files.length)] ?? '';
    if (among === plan.large) process.stdout.write(`begins ${invoiceId} ${sha256}\n`);
    if (mode === 'mixed' && below(40) === 0) {
      await warehouse.voidInvoice(invoiceId);
      process.stdout.write(`voided ${invoiceId}\n`);
      continue;
    }
    const outcome = await warehouse.load({
      invoiceId,
      sha256,
      source: 'event',
      announcedSha256: sha256,
      eventId: null,
      workflowRunId: null,
    });
    process.stdout.write(`${outcome.outcome} ${invoiceId} ${sha256}\n`);
  }
};
try {
  await Promise.all(Array.from({ length: LOADERS }, loader));
} catch (error) {
  // A full disk: committed loads stay, and the process ends and starts again.
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  await publisher.close().catch(() => undefined);
  process.exit(9);
}
