/**
 * kill -9 of the worker before and after each of its durable points (D7 to D14): nothing lost, doubled or partial, and sums
 * exact. `npm run chaos -- worker-points [rounds] [point…]` prints the result.
 */

import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { settled } from '../support/billing-traffic.ts';
import { letWorkflowTasksEnd } from '../support/invariants.ts';
import type { Product } from '../support/processes/product.ts';
import { WORKER_POINTS, type WorkerPoint } from '../support/processes/worker-points.ts';
import { withTemporalBeside } from '../support/temporal.ts';
import {
  billedTruth,
  conclude,
  describeVerdict,
  newInvoice,
  printProgress,
  type Rig,
  SETTLED_WITHIN_MS,
  sendAll,
  verdictOf,
  withRig,
} from './rig.ts';

type AnyPoint = WorkerPoint | 'reported after';

const ALL_POINTS: readonly AnyPoint[] = [...WORKER_POINTS, 'reported after'];
const KILLED_WITHIN_MS = 90_000;

export const summary =
  'kill -9 of the worker before and after each of its durable points [20 | 1 "committed before"]';

export async function main([rounds = '20', ...names]: readonly string[]): Promise<void> {
  const points = names.length === 0 ? ALL_POINTS : ALL_POINTS.filter((point) => names.includes(point));
  const result = await runWorkerPoints({ rounds: Number(rounds), points });
  conclude(result, describeVerdict(result));
}

export function runWorkerPoints(options: { readonly rounds: number; readonly points: readonly AnyPoint[] }) {
  const { rounds, points } = options;
  const beganMs = Date.now();
  // A point that was not reached within its time is missing.
  const deaths: Partial<Record<AnyPoint, number>> = {};
  return withRig({ isMortal: true }, async (rig) => {
    const { product, service } = rig;
    await product.start('temporal');
    await Promise.all([product.start('webhook'), product.start('worker')]);
    for (let round = 1; round <= rounds; round += 1) {
      for (const point of points) {
        await killAt(rig, point);
        deaths[point] = (deaths[point] ?? 0) + 1;
        printProgress(`round ${round}: killed ${point}`);
        await product.start('worker');
      }
      await settled(product.dataDir, billedTruth(rig), SETTLED_WITHIN_MS);
      printProgress(`round ${round} settled after ${Math.round((Date.now() - beganMs) / 1_000)} s`);
    }
    await withTemporalBeside(product.dataDir, letWorkflowTasksEnd);
    await product.stop('worker');
    const verdict = await withTemporalBeside(product.dataDir, (client) =>
      verdictOf(rig, billedTruth(rig), client),
    );
    const seconds = Math.round((Date.now() - beganMs) / 1_000);
    return { ...verdict, rounds, deaths, shipments: service.billedRows().length, seconds };
  });
}

/** Sends one invoice and resolves when the worker was killed at the point of its processing. */
async function killAt(rig: Rig, point: AnyPoint): Promise<void> {
  const { product } = rig;
  if (point === 'reported after') {
    await loadReported(product, await sendFor(rig, point));
    await product.kill('worker');
    return;
  }
  await writeFile(product.armFile, point);
  await sendFor(rig, point);
  await within(product.ended('worker'), KILLED_WITHIN_MS, `the worker's end at "${point}"`);
}

/** Sends one invoice; its URL has expired when the point is reached only on the way over a new URL. */
async function sendFor(rig: Rig, point: AnyPoint): Promise<string> {
  const { invoiceId, events } = await newInvoice(rig, 7);
  if (/^(token|regenerated)/.test(point)) rig.service.expireUrls();
  await sendAll(rig, events);
  return invoiceId;
}

/** D12: Temporal's history contains the result of the activity that downloads a file and loads it. */
async function loadReported({ dataDir }: Product, invoiceId: string): Promise<void> {
  await withTemporalBeside(dataDir, async (client) => {
    const deadline = Date.now() + KILLED_WITHIN_MS;
    while (Date.now() < deadline) {
      for await (const { workflowId, runId } of client.workflow.list()) {
        if (!workflowId.endsWith(invoiceId)) continue;
        const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
        const load = events?.find(
          ({ activityTaskScheduledEventAttributes: scheduled }) =>
            scheduled?.activityType?.name === 'downloadCsv',
        );
        const isReported = events?.some(
          ({ activityTaskCompletedEventAttributes: completed }) =>
            load !== undefined && String(completed?.scheduledEventId) === String(load.eventId),
        );
        if (isReported) return;
      }
      await sleep(50);
    }
    throw new Error(`No load of invoice ${invoiceId} was reported.`);
  });
}

async function within<T>(promise: Promise<T>, milliseconds: number, what: string): Promise<T> {
  const late = new AbortController();
  const deadline = sleep(milliseconds, undefined, { signal: late.signal }).then(() => {
    throw new Error(`Not within ${milliseconds / 1_000} s: ${what}.`);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    late.abort();
    deadline.catch(() => undefined);
  }
}
