/** Time of a publication of a large warehouse, and of the pause of its writers, as a ratio to `cp` of the same file. */

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from '../../warehouse/duckdb/database.ts';
import { publish } from '../../warehouse/write-publication.ts';
import { makePublished } from './support/make-published.ts';
import { median } from './support/ratios.ts';
import { expectKept } from './support/rounds.ts';
import { runMeasured } from './support/run-measured.ts';

export const summary = 'publication of a large warehouse against cp [million rows] [rounds]';

const MILLIONS_AT_ONCE = 5;
/** Above any load id that one part of five million rows has. */
const LOADS_OF_A_PART = 200_000;

export async function main([millionsText = '30', roundsText = '3']: readonly string[]): Promise<void> {
  const [millions, rounds] = [Number(millionsText), Number(roundsText)];
  const folder = await mkdtemp(join(tmpdir(), 'billsync-snapshot-'));
  const path = join(folder, 'warehouse.duckdb');
  try {
    await makePublished({ path, folder, shipments: Math.min(millions, MILLIONS_AT_ONCE) * 1e6 });
    const database = await Database.open({
      path,
      folders: [folder],
      temporaryFolder: folder,
      memoryLimit: null,
    });
    try {
      await multiply(database, Math.ceil(millions / MILLIONS_AT_ONCE));
      const { size } = await stat(path);
      process.stdout.write(`${millions} million rows, ${(size / 1e6).toFixed(0)} MB\n`);
      const ratios: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const { pauseMs, totalMs, sequence } = await publishOnce(database, folder);
        const { ms: copyMs } = await runMeasured(['cp', '--reflink=auto', path, join(folder, 'copy.duckdb')]);
        ratios.push(totalMs / copyMs);
        process.stdout.write(
          `publication ${sequence}: writers paused for ${seconds(pauseMs)}, in all ${seconds(totalMs)}; cp ${seconds(copyMs)}\n`,
        );
      }
      expectKept([{ what: 'publication to cp of the file', found: median(ratios), atMost: 2 }]);
    } finally {
      database.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function publishOnce(
  database: Database,
  folder: string,
): Promise<{ readonly pauseMs: number; readonly totalMs: number; readonly sequence: number }> {
  let pauseMs = Number.NaN;
  const began = performance.now();
  const { sequence } = await publish({
    database,
    publishedPath: join(folder, 'reports.duckdb'),
    temporaryFolder: folder,
    now: new Date(),
    recordedTo: () => null,
    alone: async (work) => {
      const paused = performance.now();
      const result = await work();
      pauseMs = performance.now() - paused;
      return result;
    },
  });
  return { pauseMs, totalMs: performance.now() - began, sequence };
}

/** Copies the rows under other load ids, since only the size of the file matters. */
async function multiply(database: Database, parts: number): Promise<void> {
  await database.use(async (session) => {
    for (let part = 1; part < parts; part += 1) {
      for (const table of ['shipment_rows', 'loads']) {
        await session.statement(
          `insert into ${table} select * replace (load_id + ${part * LOADS_OF_A_PART} as load_id) from ${table} where load_id < ${LOADS_OF_A_PART}`,
        );
      }
      await session.checkpoint();
    }
  });
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
