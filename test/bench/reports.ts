/** Time and memory of each report on a large published file, each in a process of its own. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listReports } from '../../reports/catalogue.ts';
import { makePublished } from './support/make-published.ts';
import { expectKept, type Promised } from './support/rounds.ts';
import { runMeasured } from './support/run-measured.ts';

export const summary = 'time and memory of each report [million shipments] [name]';

const PROGRAM = fileURLToPath(new URL('./support/report-once.ts', import.meta.url));
const MAX_SECONDS = 10;
const MAX_GB = 1.5;

export async function main([millions = '32', only]: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-bench-'));
  try {
    const path = join(folder, 'reports.duckdb');
    await makePublished({ path, folder, shipments: Number(millions) * 1e6 });
    const promises: Promised[] = [];
    for (const { name } of listReports()) {
      if (only !== undefined && name !== only) continue;
      const { stdout } = await runMeasured([process.execPath, PROGRAM, path, name]);
      const { ms, peakMb } = JSON.parse(stdout) as { ms: number; peakMb: number };
      promises.push(
        { what: `seconds of ${name}`, found: ms / 1000, atMost: MAX_SECONDS },
        { what: `GB of ${name}`, found: peakMb / 1024, atMost: MAX_GB },
      );
    }
    expectKept(promises);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
