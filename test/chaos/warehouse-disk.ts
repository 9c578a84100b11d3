/**
 * A disk that gets full during loads, voids and publications: a small tmpfs, filled again and again. Nothing is partial or lost, and
 * with room the next start continues. Needs root, since only root may mount.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { leaveFree, mountSmallDisk } from '../support/folders.ts';
import { aWorkshop, inspect, isSound, kill, startWriter } from '../warehouse/chaos.ts';
import { conclude, printProgress } from './rig.ts';

export const summary =
  'a small tmpfs gets full during loads [times] [seed]: nothing partial or lost, work resumes';

const MIB = 2 ** 20;

export async function runFullDisk(options: {
  readonly times: number;
  readonly seed: number;
  readonly onProgress?: (text: string) => void;
}) {
  const began = Date.now();
  const disk = mkdtempSync(join(tmpdir(), 'billsync-disk-'));
  mountSmallDisk(disk, '1g');
  let timesFull = 0;
  try {
    const workshop = await aWorkshop({ invoices: 400 + options.times * 150, rows: 300, under: disk });
    for (let round = 0; round < options.times; round += 1) {
      // A little more room each time, so that another step runs out of space.
      leaveFree(disk, 6 * MIB + round * MIB);
      const writer = await startWriter(workshop, { seed: options.seed + round });
      const deadline = Date.now() + 60_000;
      while (writer.exitCode === null && Date.now() < deadline) await sleep(20);
      if (writer.exitCode === 9) timesFull += 1;
      await kill(writer);
      leaveFree(disk, 512 * MIB);
      const found = await inspect(workshop);
      options.onProgress?.(
        `${round + 1} of ${options.times}: ended ${writer.exitCode}, ${found.loads} loads`,
      );
      if (!isSound(found)) throw new Error(`A promise broke: ${JSON.stringify(found)}`);
    }
    const findings = await inspect(workshop);
    return {
      ...{ ...findings, timesFull, promised: workshop.promised.loads.size },
      ...{ rebuilds: workshop.rebuilds.length, seconds: (Date.now() - began) / 1000 },
    };
  } finally {
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  }
}

export async function main([times = '20', seed = '1']: readonly string[]): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('Only root may mount the small disk that this needs.');
  const result = await runFullDisk({
    times: Number(times),
    seed: Number(seed),
    onProgress: printProgress,
  });
  conclude(
    result,
    isSound(result) && result.timesFull > 0 ? [] : ['a promise broke, or the disk never got full'],
  );
}
