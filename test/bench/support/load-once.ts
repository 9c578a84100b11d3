/** One side of the load bench in a process of its own, so that memory and time are its alone: prints one JSON line. */

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Database } from '../../../warehouse/duckdb/database.ts';
import { migrate } from '../../../warehouse/duckdb/schema.ts';
import { loadFile } from '../../../warehouse/load/load-files.ts';
import { BENCH_INVOICE } from './make-csv.ts';
import { scannedFile } from './scan-file.ts';

const [side, csvPath, folder] = process.argv.slice(2) as [string, string, string];
mkdirSync(folder, { recursive: true });
const answer = side === 'floor' ? await floor() : await ours();
console.log(JSON.stringify({ ...answer, peakMb: process.resourceUsage().maxRSS / 1024 }));

/** Wall and processor time of the load alone: neither the start of the process nor the download's scan. */
async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; cpuMs: number; answer: T }> {
  const [began, before] = [performance.now(), process.cpuUsage()];
  const answer = await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - began, cpuMs: (user + system) / 1000, answer };
}

/** The rawest way that still has types: sniffing off, nothing checked, no row numbers, storage of the same version. */
async function floor(): Promise<{ ms: number; cpuMs: number; rows: number }> {
  const instance = await DuckDBInstance.create(join(folder, 'floor.duckdb'), {
    storage_compatibility_version: 'v1.5.0',
    temp_directory: folder,
  });
  const connection = await instance.connect();
  const text = readFileSync(new URL('./floor.sql', import.meta.url), 'utf8');
  const { ms, cpuMs } = await timed(async () => {
    await connection.run(text.replace('CSV_PATH', csvPath));
    await connection.run('checkpoint');
  });
  const rows = Number((await connection.runAndReadAll('select count(*) from floor')).getRows()[0]?.[0]);
  connection.closeSync();
  instance.closeSync();
  return { ms, cpuMs, rows };
}

/** Our load with every check. The scan lies beside the file. */
async function ours(): Promise<{ ms: number; cpuMs: number; rows: number }> {
  const file = await scannedFile(csvPath);
  const database = await Database.open({
    path: join(folder, 'ours.duckdb'),
    folders: [join(csvPath, '..')],
    temporaryFolder: folder,
    memoryLimit: null,
  });
  await migrate(database, new Date());
  const {
    ms,
    cpuMs,
    answer: outcome,
  } = await timed(async () => {
    const loaded = await loadFile(database, {
      invoiceId: BENCH_INVOICE,
      file,
      csvPath,
      source: 'event',
      announcedSha256: file.sha256,
      eventId: null,
      workflowRunId: null,
      loadId: 1,
      version: null,
      loadedAt: '2026-03-01T00:00:00.000Z',
      isRepeated: false,
      tolerances: [],
    });
    await database.use((session) => session.checkpoint());
    return loaded;
  });
  if (outcome.outcome !== 'loaded') throw new Error(`the load answered ${JSON.stringify(outcome)}`);
  database.close();
  return { ms, cpuMs, rows: outcome.shipments };
}
