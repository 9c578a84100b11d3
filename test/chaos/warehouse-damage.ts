/** Flips bits in the warehouse's file: each must be detected or change no result, and a rebuild must repair it. */

import { closeSync, cpSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { isWarehouseError } from '../../warehouse/errors.ts';
import { openWarehouse, rebuildWarehouse } from '../../warehouse/open-warehouse.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  loadCsv,
  makeDataDir,
  queryFile,
  READER_VIEWS,
  settingsFor,
  silent,
} from '../warehouse/support.ts';
import { conclude, printProgress } from './rig.ts';

export const summary =
  'flipped bits in the warehouse [flips] [seed]: detected, or no result changes; a rebuild repairs';

export async function runDamage(options: {
  readonly flips: number;
  readonly seed: number;
  readonly onProgress?: (text: string) => void;
}) {
  const t = await aWarehouse();
  for (let number = 0; number < 30; number += 1) {
    const invoiceId = `11111111-1111-4111-8111-${`${number}`.padStart(12, '0')}`;
    await t.archive.putEvent(
      anEvent('invoice_finalized', { header: { invoiceId, totalTransactionCount: 300 } }),
    );
    const rows = Array.from({ length: 300 }, (_, row) => ({
      'Billing Cost': `${row}.${number + 10}`,
      Tenant: `T${row}`,
    }));
    await loadCsv(t, aCsv(rows, invoiceId), { invoiceId });
  }
  await t.warehouse.ingestArchive();
  const expected = await everything((await t.warehouse.publish()).path);
  const kept = makeDataDir();
  await t.warehouse.close();
  cpSync(t.dataDir, kept, { recursive: true });
  await t.close();

  let state = options.seed;
  const tally = { found: 0, harmless: 0, rebuilt: 0 };
  const wrongAnswers: string[] = [];
  for (let round = 0; round < options.flips; round += 1) {
    const dataDir = makeDataDir();
    cpSync(kept, dataDir, { recursive: true });
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const where = flip(join(dataDir, 'warehouse.duckdb'), state);
    const answer = await lookAt(dataDir, expected);
    if (answer === 'wrong') wrongAnswers.push(`byte ${where}`);
    else tally[answer] += 1;
    if (answer === 'found' && (await rebuildHelps(dataDir, expected))) tally.rebuilt += 1;
    rmSync(dataDir, { recursive: true, force: true });
    options.onProgress?.(`${round + 1} of ${options.flips}: byte ${where}: ${answer}`);
  }
  rmSync(kept, { recursive: true, force: true });
  return { flips: options.flips, ...tally, wrongAnswers };
}

function flip(path: string, random: number): number {
  const where = random % statSync(path).size;
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, where);
  byte[0] = (byte[0] ?? 0) ^ (1 << (random % 8));
  writeSync(file, byte, 0, 1, where);
  closeSync(file);
  return where;
}

async function lookAt(dataDir: string, expected: string): Promise<'found' | 'harmless' | 'wrong'> {
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  try {
    const warehouse = await openWarehouse({ settings: settingsFor(dataDir), archive, log: silent });
    try {
      const { drift } = await warehouse.verify({ full: true });
      if (drift.length > 0) return 'found';
      const { path } = await warehouse.publish();
      return (await everything(path)) === expected ? 'harmless' : 'wrong';
    } finally {
      await warehouse.close().catch(() => undefined);
    }
  } catch (error) {
    if (isWarehouseError(error, 'warehouse-corrupt')) return 'found';
    // Any error is detected damage, whatever its message.
    if (error instanceof Error && !/expect/.test(error.message)) return 'found';
    throw error;
  } finally {
    await archive.close();
  }
}

async function rebuildHelps(dataDir: string, expected: string): Promise<boolean> {
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  try {
    const { publication } = await rebuildWarehouse({ settings: settingsFor(dataDir), archive, log: silent });
    return (await everything(publication.path)) === expected;
  } finally {
    await archive.close();
  }
}

async function everything(path: string): Promise<string> {
  return JSON.stringify(
    await Promise.all(READER_VIEWS.map((view) => queryFile(path, `select * from ${view} order by all`))),
  );
}

export async function main([flips = '60', seed = '1']: readonly string[]): Promise<void> {
  const result = await runDamage({
    flips: Number(flips),
    seed: Number(seed),
    onProgress: printProgress,
  });
  conclude(
    result,
    result.wrongAnswers.length > 0 || result.rebuilt !== result.found ? ['damage was not detected'] : [],
  );
}
