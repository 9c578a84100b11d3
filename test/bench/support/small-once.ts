/** One side of the bench of small invoices in a process of its own: prints one JSON line. */

import { createHash } from 'node:crypto';
import { closeSync, fdatasyncSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { pino } from 'pino';
import { openFolderArchive } from '../../../archive/folder-archive.ts';
import { importFiles } from '../../../warehouse/import/import-files.ts';
import { openWarehouse, rebuildWarehouse } from '../../../warehouse/open-warehouse.ts';
import { openQuarantine } from '../../../webhook/inbox/quarantine.ts';
import { settingsFor } from '../../warehouse/support.ts';

type Side = 'import floor' | 'rebuild floor' | 'import' | 'rebuild';

const [side, csvFolder, folder] = process.argv.slice(2) as [Side, string, string];
const paths = readdirSync(csvFolder)
  .sort()
  .map((name) => join(csvFolder, name));
const log = pino({ level: 'error' }, process.stderr);

console.log(JSON.stringify(await sides()[side]()));

function sides(): Readonly<Record<Side, () => Promise<object>>> {
  return {
    'import floor': () => timed(async () => loadRaw(paths.map(keep))),
    'rebuild floor': () => timed(async () => loadRaw(paths)),
    import: () => timed(importAll),
    rebuild: async () => {
      await importAll();
      return timed(rebuild);
    },
  };
}

/** Wall and processor time, without the start of the process. */
async function timed(work: () => Promise<number>): Promise<object> {
  const [began, before] = [performance.now(), process.cpuUsage()];
  const rows = await work();
  const { user, system } = process.cpuUsage(before);
  const peakMb = process.resourceUsage().maxRSS / 1024;
  return { ms: performance.now() - began, cpuMs: (user + system) / 1000, rows, peakMb };
}

function keep(path: string): string {
  const bytes = readFileSync(path);
  const kept = join(folder, createHash('sha256').update(bytes).digest('hex'));
  const file = openSync(kept, 'wx');
  writeSync(file, bytes);
  fdatasyncSync(file);
  closeSync(file);
  return kept;
}

async function loadRaw(files: readonly string[]): Promise<number> {
  const instance = await DuckDBInstance.create(join(folder, 'raw.duckdb'), {
    storage_compatibility_version: 'v1.5.0',
  });
  const connection = await instance.connect();
  const text = readFileSync(new URL('./floor.sql', import.meta.url), 'utf8');
  await connection.run(text.replace("'CSV_PATH'", () => `[${files.map((file) => `'${file}'`).join(', ')}]`));
  await connection.run('checkpoint');
  const counted = await connection.runAndReadAll('select count(*)::integer as rows from floor');
  connection.closeSync();
  instance.closeSync();
  return Number(counted.getRows()[0]?.[0]);
}

async function importAll(): Promise<number> {
  const { dataDir, archive, settings } = await place();
  const quarantine = await openQuarantine(join(dataDir, 'inbox', 'quarantine'));
  const warehouse = await openWarehouse({ settings, archive, log, role: 'bench' });
  const deps = { warehouse, archive, quarantine, dataDir, now: () => new Date() };
  const imported = await importFiles(
    deps,
    paths.map((path) => ({ path, invoiceId: null })),
  );
  const other = imported.find(({ outcome }) => outcome.outcome !== 'loaded');
  if (other !== undefined) throw new Error(JSON.stringify(other));
  const { shipments } = await warehouse.publish();
  await warehouse.close();
  await archive.close();
  return shipments;
}

async function rebuild(): Promise<number> {
  const { archive, settings } = await place();
  const { publication } = await rebuildWarehouse({ settings, archive, log });
  await archive.close();
  return publication.shipments;
}

async function place() {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir, { recursive: true });
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  return { dataDir, archive, settings: settingsFor(dataDir) };
}
