/** Starts a backfill, follows it, steers it; the workflows go on by themselves when nobody follows. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { taskQueues } from '../../lib/wire/names.ts';
import type { backfill } from '../backfill.ts';
import type { backfillBatch } from '../backfill-batch.ts';
import {
  type BackfillControl,
  type BackfillCounts,
  type BackfillOutcome,
  backfillBatchProgressQuery,
  backfillBatchQuery,
  backfillBatchSignal,
  backfillControlSignal,
  backfillProgressQuery,
} from '../backfill-messages.ts';
import { type InvoiceRoute, invoicePace } from './invoice-client.ts';

export interface BackfillRequest {
  readonly partnerId: string;
  /** Each once; order is kept. */
  readonly invoiceIds: readonly string[];
  readonly concurrency?: number;
  /** How long one invoice is waited for before it counts as `pending`../../lib/temporal */
  readonly replyWithin?: string;
  /** How long a batch may say nothing before it is looked after, and wait before it looks; 10 minutes by default. */
  readonly lookAfter?: string;
  /** How long after the last batch we count as gone when we did not say that it was the last; 10 minutes by default. */
  readonly quietAfter?: string;
  /** Ids in one batch, 1,000 by default. */
  readonly batchSize?: number;
  /** Called after each batch with how many ids were handed over so far. */
  readonly onHandedOver?: (ids: number, backfillId: string) => void;
}

export interface BackfillStatus {
  readonly total: number;
  readonly done: number;
  readonly inWork: number;
  readonly control: BackfillControl;
  readonly isOver: boolean;
  /** Whether all ids were handed over; false when it is over: not all of them ever will be. */
  readonly isComplete: boolean;
  readonly counts: BackfillCounts;
}

export interface BackfillHandle {
  readonly backfillId: string;
  status(): Promise<BackfillStatus>;
  /** Yields each invoice's result once, as they come, until all are told or `signal` aborts. */
  results(options?: {
    readonly signal?: AbortSignal;
    readonly everyMs?: number;
  }): AsyncIterable<BackfillOutcome>;
  control(wanted: BackfillControl): Promise<void>;
}

const DEFAULT_CONCURRENCY = 20;
/**
 * 39 bytes an id: far below the limits of a payload, and of a batch's history. Larger ones end less often, and at each
 * end the last few invoices are waited for alone.
 */
const BATCH_SIZE = 1_000;

/** Resolves once all ids are handed over, or nobody takes them any more: somebody cancelled it meanwhile. */
export async function startBackfill(
  client: Client,
  route: InvoiceRoute,
  request: BackfillRequest,
): Promise<BackfillHandle> {
  const { partnerId, concurrency = DEFAULT_CONCURRENCY, replyWithin = '1 h' } = request;
  const { batchSize = BATCH_SIZE, lookAfter, quietAfter, onHandedOver } = request;
  const { environment } = route;
  const backfillId = randomUUID();
  const workflowId = backfillWorkflowId(route, backfillId);
  const invoiceIds = [...new Set(request.invoiceIds)];
  const pace = invoicePace(route);
  const input = {
    ...{ environment, partnerId, concurrency, replyWithin },
    ...(pace ? { pace } : {}),
    ...(lookAfter ? { lookAfter } : {}),
  };
  const taskQueue = (route.queues ?? taskQueues(environment)).billing;
  const parent = await client.workflow.start<typeof backfill>('backfill', {
    ...{ workflowId, taskQueue, args: [{ ...input, ...(quietAfter ? { quietAfter } : {}) }] },
  });
  for (let from = 0; ; from += batchSize) {
    const page = invoiceIds.slice(from, from + batchSize);
    const isLast = from + batchSize >= invoiceIds.length;
    const batchId = `${workflowId}/${from / batchSize + 1}`;
    if (page.length > 0) {
      await client.workflow.start<typeof backfillBatch>('backfillBatch', {
        ...{
          workflowId: batchId,
          taskQueue,
          args: [{ ...input, invoiceIds: page, control: 'pause', replyTo: workflowId }],
        },
      });
    }
    const isTaken = await announced({ workflowId: batchId, size: page.length, isLast });
    if (isTaken) onHandedOver?.(Math.min(from + batchSize, invoiceIds.length), backfillId);
    if (isLast || !isTaken) return followBackfill(client, route, backfillId);
  }

  async function announced(batch: { workflowId: string; size: number; isLast: boolean }): Promise<boolean> {
    if (await isHeard(parent.signal(backfillBatchSignal, batch))) return true;
    // It finds out by itself as well, later, and may have done so.
    const orphan = client.workflow.getHandle(batch.workflowId);
    if (batch.size > 0) await isHeard(orphan.signal(backfillControlSignal, 'cancel'));
    return false;
  }
}

/** A handle to a backfill that was started before, by any process. */
export function followBackfill(client: Client, route: InvoiceRoute, backfillId: string): BackfillHandle {
  const parent = client.workflow.getHandle<typeof backfill>(backfillWorkflowId(route, backfillId));
  const batchOf = (workflowId: string) => client.workflow.getHandle<typeof backfillBatch>(workflowId);

  async function status(): Promise<BackfillStatus> {
    const progress = await parent.query(backfillProgressQuery);
    const batches = await parent.query(backfillBatchQuery);
    const counts: Record<keyof BackfillCounts, number> = { ...progress.counts };
    let inWork = 0;
    for (const { workflowId } of batches.filter(({ state }) => state === 'running')) {
      const batch = await outcomesOf(workflowId);
      inWork += batch.inWork;
      for (const { state } of batch.results) counts[state] += 1;
    }
    const done = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const { total, control, isOver, isComplete } = progress;
    return { total, done, inWork, control, isOver, isComplete, counts };
  }

  /** A batch that was announced and has not begun yet has no results. */
  async function outcomesOf(
    workflowId: string,
  ): Promise<{ readonly results: readonly BackfillOutcome[]; readonly inWork: number }> {
    try {
      return await batchOf(workflowId).query(backfillBatchProgressQuery);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { results: [], inWork: 0 };
      throw error;
    }
  }

  async function* results({
    signal,
    everyMs = 1_000,
  }: {
    readonly signal?: AbortSignal;
    readonly everyMs?: number;
  } = {}): AsyncIterable<BackfillOutcome> {
    const told = new Map<string, number>();
    const over = new Set<string>();
    const asked = <T>(ask: () => Promise<T>): Promise<T> => retryQuery(ask, signal);
    try {
      while (!signal?.aborted) {
        const { isOver } = await asked(() => parent.query(backfillProgressQuery));
        for (const { workflowId, state } of await asked(() => parent.query(backfillBatchQuery))) {
          if (state === 'waiting' || over.has(workflowId)) continue;
          const { results: found } = await asked(() => outcomesOf(workflowId));
          yield* found.slice(told.get(workflowId) ?? 0);
          told.set(workflowId, found.length);
          if (state === 'done') over.add(workflowId);
        }
        if (isOver) return;
        await sleep(everyMs, undefined, { signal });
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  return {
    backfillId,
    status,
    results,
    control: (wanted) => parent.signal(backfillControlSignal, wanted),
  };
}

export type { BackfillCounts, BackfillOutcome };

/** @returns false: the workflow was over before it */
async function isHeard(signalled: Promise<void>): Promise<boolean> {
  try {
    await signalled;
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

function backfillWorkflowId({ environment }: InvoiceRoute, backfillId: string): string {
  return `backfill/${environment}/${backfillId}`;
}

const QUERY_RETRY_MS = 300_000;
const QUERY_INTERVAL_MS = 1_000;

/**
 * Retries a query for five minutes while no worker answers it: workers restart, and machines are replaced.
 *
 * @throws ServiceError after that; at once every other error, and an AbortError when `signal` aborts
 */
export async function retryQuery<T>(query: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const until = Date.now() + QUERY_RETRY_MS;
  for (;;) {
    try {
      return await query();
    } catch (error) {
      if (!(error instanceof ServiceError) || Date.now() > until) throw error;
      await sleep(QUERY_INTERVAL_MS, undefined, { signal });
    }
  }
}
