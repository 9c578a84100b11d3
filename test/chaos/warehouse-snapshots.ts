/** Publications during loads: each is consistent, none disturbs a reader. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { testProgram } from '../support/processes/test-program.ts';
import { aWorkshop, checkFile, kill, startWriter } from '../warehouse/chaos.ts';
import { queryFile } from '../warehouse/support.ts';
import { conclude, printProgress } from './rig.ts';

export const summary =
  'snapshots during loads [snapshots] [seed]: each consistent, readers in other processes hold the old one';

export async function runSnapshots(options: {
  readonly snapshots: number;
  readonly seed: number;
  readonly onProgress?: (text: string) => void;
}) {
  const began = Date.now();
  const workshop = await aWorkshop({ invoices: 200 + options.snapshots * 8, rows: 200 });
  const published = join(workshop.dataDir, 'reports.duckdb');
  const writer = await startWriter(workshop, { seed: options.seed });
  const [inconsistent, seen]: [string[], Set<number>] = [[], new Set()];
  let [loads, lastInode] = [0, 0];
  const readers = [];
  const deadline = Date.now() + 60_000 + options.snapshots * 3_000;
  while (seen.size < options.snapshots && Date.now() < deadline) {
    const inode = inodeOf(published);
    if (inode === lastInode) {
      await sleep(10);
      continue;
    }
    lastInode = inode;
    // A name of its own, since the published file may be replaced between two queries.
    const held = join(workshop.dataDir, 'inspected.duckdb');
    linkSync(published, held);
    const inspected = await checkFile(held, null);
    const [line] = await queryFile(held, 'select sequence from publication');
    rmSync(held);
    if (inspected.partial + inspected.doubled + inspected.voidedInReports > 0)
      inconsistent.push(JSON.stringify({ ...line, ...inspected }));
    seen.add(Number(line?.sequence));
    loads = inspected.loads;
    if (readers.length < 2) readers.push(startReader(published, 3 + readers.length * 5));
    options.onProgress?.(`${seen.size} of ${options.snapshots} snapshots, ${loads} loads`);
  }
  await kill(writer);
  const ends = await Promise.all(readers.map((reader) => reader.stop()));
  workshop.remove();
  return {
    snapshots: seen.size,
    inconsistent,
    held: ends.reduce((sum, { held }) => sum + held, 0),
    readersThatFailed: ends.flatMap(({ complaint }) => (complaint === '' ? [] : [complaint])),
    loads,
    seconds: (Date.now() - began) / 1000,
  };
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function startReader(path: string, looks: number): { stop(): Promise<{ held: number; complaint: string }> } {
  const args = [testProgram('warehouse/snapshot-reader.ts'), path, `${looks}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [held, complaint] = [0, ''];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'held') held += 1;
  });
  child.stderr.on('data', (text: Buffer) => {
    complaint = (complaint + text.toString()).slice(-2_000);
  });
  return {
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
      return { held, complaint };
    },
  };
}

export async function main([snapshots = '200', seed = '1']: readonly string[]): Promise<void> {
  const result = await runSnapshots({
    snapshots: Number(snapshots),
    seed: Number(seed),
    onProgress: printProgress,
  });
  const few = result.snapshots < Number(snapshots) ? ['too few snapshots were published in time'] : [];
  conclude(result, [...result.inconsistent, ...result.readersThatFailed, ...few]);
}
