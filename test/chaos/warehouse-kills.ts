/** kill -9 of the writer during loads, voids and publications, each followed by a check of the published copy; then the findings. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  aWorkshop,
  checkFile,
  inspect,
  isSound,
  kill,
  startWriter,
  type Workshop,
} from '../warehouse/chaos.ts';
import { conclude, printProgress } from './rig.ts';

export const summary = 'kill -9 in the middle of loads [kills] [seed]: nothing lost, halved or doubled';

export async function runKills(options: {
  readonly kills: number;
  readonly seed: number;
  readonly onProgress?: (text: string) => void;
}) {
  const began = Date.now();
  const workshop = await aWorkshop({
    invoices: 60 + options.kills * 10,
    rows: 400,
    large: Math.min(10, options.kills),
  });
  const published = join(workshop.dataDir, 'reports.duckdb');
  const inconsistent: string[] = [];
  let [publications, state] = [0, options.seed];
  for (let round = 0; round < options.kills; round += 1) {
    const writer = await startWriter(workshop, { seed: options.seed + round });
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    // Every second kill comes during a batch.
    if (round % 2 === 0) await batchBegins(workshop);
    await sleep(round % 2 === 0 ? state % 150 : 50 + (state % 700));
    // On a busy machine none of them may have got as far as a load.
    while (round === options.kills - 1 && workshop.promised.loads.size === 0) await sleep(5);
    await kill(writer);
    if (existsSync(published)) {
      publications += 1;
      const { partial, doubled, voidedInReports } = await checkFile(published, null);
      if (partial + doubled + voidedInReports > 0)
        inconsistent.push(JSON.stringify({ round, partial, doubled, voidedInReports }));
    }
    options.onProgress?.(
      `${round + 1} of ${options.kills} kills, ${workshop.promised.loads.size} loads promised`,
    );
    if (round % 20 === 19) await expectSound(workshop);
  }
  const findings = await inspect(workshop);
  const promised = workshop.promised.loads.size;
  workshop.remove();
  return {
    ...findings,
    ...{ publications, inconsistent },
    kills: options.kills,
    promised,
    largeCutShort: workshop.large.begun - workshop.large.answered,
    batches: workshop.batches.begun,
    batchesCutShort: workshop.batches.begun - workshop.batches.ended,
    rebuilds: workshop.rebuilds.length,
    seconds: (Date.now() - began) / 1000,
  };
}

/** At the end of a long run there may be no further batch. */
const BATCH_TIMEOUT_MS = 10_000;

async function batchBegins({ batches }: Workshop): Promise<void> {
  const [before, began] = [batches.begun, Date.now()];
  while (batches.begun === before && Date.now() - began < BATCH_TIMEOUT_MS) await sleep(2);
}

async function expectSound(workshop: Workshop): Promise<void> {
  const found = await inspect(workshop);
  if (!isSound(found)) throw new Error(`A promise broke: ${JSON.stringify(found)}`);
}

export async function main([kills = '200', seed = '1']: readonly string[]): Promise<void> {
  const result = await runKills({
    kills: Number(kills),
    seed: Number(seed),
    onProgress: printProgress,
  });
  conclude(result, [...(isSound(result) ? [] : ['a promise broke']), ...result.inconsistent]);
}
