/**
 * kill -9 of the worker before and after each of its durable points (D7 to D14): nothing lost, nothing double, nothing
 * in part, sums exact. `npm run chaos -- worker-points [rounds] [point…]` prints the figures.
 */

import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startForeignService } from '../support/foreign-service.ts';
import { settled } from '../support/foreign-story.ts';
import { checkInvariants, letWorkflowTasksEnd, type Truth, type Violation } from '../support/invariants.ts';
import { createProduct, type Product } from '../support/processes/product.ts';
import { WORKER_POINTS, type WorkerPoint } from '../support/processes/worker-points.ts';
import { withTemporalBeside } from '../support/temporal.ts';
import { deliver } from '../webhook/a-delivery.ts';

export type AnyPoint = WorkerPoint | 'reported after';

export interface WorkerPointsResult {
  readonly rounds: number;
  /** Deaths by point; a point that was never reached within its time is missing. */
  readonly deaths: Readonly<Partial<Record<AnyPoint, number>>>;
  readonly invoices: number;
  readonly shipments: number;
  readonly violations: readonly Violation[];
  readonly complaints: readonly string[];
  readonly seconds: number;
}

export const ALL_POINTS: readonly AnyPoint[] = [...WORKER_POINTS, 'reported after'];
const DEAD_WITHIN_MS = 90_000;
const SETTLED_WITHIN_MS = 240_000;

export async function runWorkerPoints(options: {
  readonly rounds: number;
  readonly points?: readonly AnyPoint[];
  readonly progress?: (text: string) => void;
}): Promise<WorkerPointsResult> {
  const { rounds, points = ALL_POINTS, progress = () => {} } = options;
  const beganMs = Date.now();
  const service = await startForeignService();
  const product = await createProduct({ service, isMortal: true });
  const acknowledged: string[] = [];
  const deaths: Partial<Record<AnyPoint, number>> = {};
  let isSound = false;
  try {
    await product.start('temporal');
    await Promise.all([product.start('webhook'), product.start('worker')]);

    /** One invoice, said whole, its URL dead when the way has to lead over a new one. */
    const bring = async (point: AnyPoint): Promise<string> => {
      const from = service.events.length;
      const { invoiceId } = await service.createInvoice({ rows: 7 });
      await service.finalize(invoiceId);
      if (/^(token|regenerated)/.test(point)) service.expireUrls();
      for (const text of service.events.slice(from)) {
        const { statusCode, body } = await deliver(product.webhookUrl, text);
        if (statusCode !== 200) throw new Error(`The endpoint answered ${statusCode}.`);
        acknowledged.push(body.eventId ?? '');
      }
      return invoiceId;
    };
    const truth = (): Truth => ({ billed: service.billedRows(), voided: [], acknowledged });

    for (let round = 1; round <= rounds; round += 1) {
      for (const point of points) {
        if (point === 'reported after') {
          const invoiceId = await bring(point);
          await loadReported(product, invoiceId);
          await product.kill('worker');
        } else {
          await writeFile(product.armFile, point);
          await bring(point);
          await within(product.ended('worker'), DEAD_WITHIN_MS, `the worker's death at "${point}"`);
        }
        deaths[point] = (deaths[point] ?? 0) + 1;
        progress(`round ${round}: died ${point}`);
        await product.start('worker');
      }
      await settled(product.dataDir, truth(), SETTLED_WITHIN_MS);
      progress(`round ${round} settled after ${Math.round((Date.now() - beganMs) / 1_000)} s`);
    }
    const { dataDir, logFolder } = product;
    await withTemporalBeside(dataDir, letWorkflowTasksEnd);
    await product.stop('worker');
    const violations = await withTemporalBeside(dataDir, (client) =>
      checkInvariants({ dataDir, logFolder, truth: truth(), client }),
    );
    isSound = violations.length === 0;
    return {
      ...{ rounds, deaths, violations, complaints: [...service.complaints] },
      invoices: new Set(service.billedRows().map(({ invoiceId }) => invoiceId)).size,
      shipments: service.billedRows().length,
      seconds: Math.round((Date.now() - beganMs) / 1_000),
    };
  } finally {
    if (!isSound) process.stderr.write(`Kept for a look: ${product.dataDir}\n`);
    await product.close({ keep: !isSound });
    await service.close();
  }
}

/** D12: Temporal's history has the answer of the activity that brings a file and loads it. */
async function loadReported({ dataDir }: Product, invoiceId: string): Promise<void> {
  await withTemporalBeside(dataDir, async (client) => {
    const deadline = Date.now() + DEAD_WITHIN_MS;
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

export const summary =
  'kill -9 of the worker before and after each of its durable points [20 | 1 "committed before"]';

/** @throws Error an invariant was violated, or a point was not reached */
export async function main([rounds = '20', ...points]: readonly string[]): Promise<void> {
  const wanted = points.length === 0 ? ALL_POINTS : ALL_POINTS.filter((point) => points.includes(point));
  const result = await runWorkerPoints({
    rounds: Number(rounds),
    points: wanted,
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const broken = result.violations.length + result.complaints.length;
  if (broken > 0) throw new Error(`${broken} promises were broken; see the figures above.`);
}
