/** How long it takes to make the warehouse again from the archive alone, and that every view answers what it answered. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { pino } from 'pino';
import { openFolderArchive } from '../archive/folder-archive.ts';
import { openQuarantine } from '../inbox/quarantine-folder.ts';
import { importFile } from '../warehouse/import/import-file.ts';
import { openWarehouse } from '../warehouse/open-warehouse.ts';
import type { OpenWarehouseOptions } from '../warehouse/opening.ts';
import { rebuildWarehouse } from '../warehouse/rebuild-warehouse.ts';
import { makeCsv } from './support/make-csv.ts';

export const summary = 'rebuild from the archive [rows] [invoices]: seconds, and the same answers as before';

/** Promised for a million rows. */
const MOST_SECONDS_PER_MILLION = 120;

export async function main([rowsText = '1000000', invoicesText = '100']: readonly string[]): Promise<void> {
  const [rows, invoices] = [Number(rowsText), Number(invoicesText)];
  const dataDir = await mkdtemp(join(tmpdir(), 'billsync-rebuild-'));
  const settings = settingsFor(dataDir);
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  const quarantine = await openQuarantine(join(dataDir, 'quarantine'));
  const log = pino({ level: 'error' }, process.stderr);
  try {
    const warehouse = await openWarehouse({ settings, archive, log, role: 'bench' });
    for (let number = 0; number < invoices; number += 1) {
      const path = join(dataDir, 'one.csv');
      await makeCsv(path, Math.ceil(rows / invoices), idOf(number));
      const deps = { warehouse, archive, quarantine, dataDir, now: () => new Date() };
      const { outcome } = await importFile(deps, { path, invoiceId: null });
      if (outcome.outcome !== 'loaded') throw new Error(JSON.stringify(outcome));
    }
    const before = await answers((await warehouse.publish()).path);
    await warehouse.close();
    const began = performance.now();
    const { loads, publication } = await rebuildWarehouse({ settings, archive, log });
    const seconds = (performance.now() - began) / 1000;
    const isSame = (await answers(publication.path)) === before;
    const { shipments } = publication;
    process.stdout.write(`${JSON.stringify({ shipments, loads, seconds, isSame }, null, 2)}\n`);
    if (!isSame) throw new Error('the rebuilt warehouse answers something else');
    if (seconds > (MOST_SECONDS_PER_MILLION * Math.max(shipments, 1_000_000)) / 1_000_000)
      throw new Error('the rebuild was too slow');
  } finally {
    await archive.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

function idOf(number: number): string {
  return `7f3a0000-1111-4222-8333-${`${number}`.padStart(12, '0')}`;
}

function settingsFor(dataDir: string): OpenWarehouseOptions['settings'] {
  return {
    dataDir,
    environment: 'test',
    warehouse: { kind: 'duckdb', path: join(dataDir, 'warehouse.duckdb') },
    warehouseMemoryLimit: null,
    archive: { kind: 'folder', path: join(dataDir, 'archive') },
  };
}

async function answers(path: string): Promise<string> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const question = await readFile(new URL('./support/every-view.sql', import.meta.url), 'utf8');
  const rows = (await connection.runAndReadAll(question)).getRowObjectsJson();
  connection.closeSync();
  instance.closeSync();
  return JSON.stringify(rows);
}
