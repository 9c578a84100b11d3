/**
 * The disk of the data folder fills up while deliveries go on: 503 from the endpoint, no partial invoice, and work resumes
 * by itself once there is room. Needs root, for a small disk of its own (tmpfs). `npm run chaos -- disk-full [MiB]`.
 */

import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { settled } from '../support/billing-traffic.ts';
import { mountSmallDisk } from '../support/folders.ts';
import type { Product } from '../support/processes/product.ts';
import {
  billedTruth,
  conclude,
  describeVerdict,
  newInvoice,
  printProgress,
  type Rig,
  send,
  sendAll,
  verdictOf,
  withRig,
} from './rig.ts';

type Fullness = Awaited<ReturnType<typeof playFull>>;

const FULL_FOR_MS = 10_000;
const RECOVERED_WITHIN_MS = 120_000;
const KIB = 1_024;

export const summary =
  'the disk fills up: 503 from the endpoint, no partial invoice, work resumes by itself [200] (root)';

export async function main([sizeMib = '200']: readonly string[]): Promise<void> {
  const disk = await mkdtemp(join(tmpdir(), 'small-disk-'));
  mountSmallDisk(disk, `${sizeMib}m`);
  try {
    const result = await withRig({ settings: { BILLSYNC_DATA_DIR: join(disk, 'data') } }, async (rig) => {
      const { product } = rig;
      await product.start('up');
      for (let nth = 0; nth < 3; nth += 1) await sendAll(rig, (await newInvoice(rig, 20)).events);
      await settled(product.dataDir, billedTruth(rig), RECOVERED_WITHIN_MS);
      const fullness: Fullness[] = [];
      // Nothing; room for deliveries; room for loads, but not for downloads.
      for (const freeKib of [0, 6_000, 48_000]) {
        fullness.push(await playFull(rig, disk, freeKib));
        printProgress(JSON.stringify(fullness.at(-1)));
      }
      await product.stop('up');
      return { fullness, ...(await verdictOf(rig, billedTruth(rig))) };
    });
    conclude(result, [...brokenBy(result.fullness), ...describeVerdict(result)]);
  } finally {
    execFileSync('umount', ['--lazy', disk]);
    await rm(disk, { recursive: true, force: true });
  }
}

async function playFull(rig: Rig, disk: string, leaveKib: number) {
  const { product } = rig;
  const ballast = join(disk, 'ballast');
  await fill(disk, ballast, leaveKib);
  const freeKib = await freeOf(disk);
  const answers: Record<number, number> = {};
  const refused: string[] = [];
  let restarts = 0;
  let readyz: number | null = null;
  const untilMs = Date.now() + FULL_FOR_MS;
  while (Date.now() < untilMs) {
    for (const text of (await newInvoice(rig, leaveKib === 0 ? 5 : 2_000)).events) {
      const status = await send(rig, text);
      answers[status] = (answers[status] ?? 0) + 1;
      if (status !== 200) refused.push(text);
    }
    readyz = (await readyzOf(product)) ?? readyz;
    restarts += await restartIfEnded(product);
    await sleep(1_000);
  }
  await rm(ballast);
  const freedMs = Date.now();
  restarts += await restartIfEnded(product);
  for (const text of refused) while ((await send(rig, text)) !== 200) await sleep(500);
  const deadline = freedMs + RECOVERED_WITHIN_MS;
  while (Date.now() < deadline) {
    restarts += await restartIfEnded(product);
    const isSettled = await settled(product.dataDir, billedTruth(rig), 2_000).then(
      () => true,
      () => false,
    );
    if (isSettled) break;
  }
  await settled(product.dataDir, billedTruth(rig), 1);
  const recoveredAfterSeconds = Math.round((Date.now() - freedMs) / 100) / 10;
  return { freeKib, answers, readyz, restarts, recoveredAfterSeconds };
}

async function readyzOf(product: Product): Promise<number | null> {
  try {
    const { statusCode, body } = await request(new URL('/readyz', product.address('up', 'dashboard') ?? ''));
    await body.dump();
    return statusCode;
  } catch {
    return null;
  }
}

/** @returns 1 when the process had ended */
async function restartIfEnded(product: Product): Promise<number> {
  if (product.isRunning('up')) return 0;
  // Without room it may refuse to start; the next call tries again.
  await product.start('up').catch(() => undefined);
  return 1;
}

async function freeOf(disk: string): Promise<number> {
  const { bavail, bsize } = await statfs(disk);
  return Math.floor((bavail * bsize) / KIB);
}

async function fill(disk: string, ballast: string, leaveKib: number): Promise<void> {
  const file = openSync(ballast, 'a', 0o600);
  try {
    const block = Buffer.alloc(64 * KIB);
    while ((await freeOf(disk)) > leaveKib + 64) writeSync(file, block);
    // To the last page when nothing is to be left.
    while (leaveKib === 0) writeSync(file, block.subarray(0, 4 * KIB));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}

function brokenBy(fullness: readonly Fullness[]): readonly string[] {
  return [
    ...((fullness[0]?.answers[503] ?? 0) > 0 ? [] : ['a full disk was not answered with 503']),
    ...fullness.flatMap(({ freeKib, answers, readyz, restarts }) => [
      ...((answers[0] ?? 0) === 0 ? [] : [`${freeKib} KiB free: ${answers[0]} deliveries had no answer`]),
      ...(readyz === 503 ? [] : [`${freeKib} KiB free: /readyz answered ${readyz}`]),
      ...(restarts === 0 ? [] : [`${freeKib} KiB free: it ended by itself ${restarts} times`]),
    ]),
  ];
}
