import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import { taskQueues } from '../../lib/wire/names.ts';
import type { backfill } from '../backfill.ts';
import type { backfillBatch } from '../backfill-batch.ts';
import {
  type BackfillBatchProgress,
  type BackfillControl,
  type BackfillCounts,
  type BackfillOutcome,
  type BackfillProgress,
  backfillBatchProgressQuery,
  backfillBatchSignal,
  backfillControlSignal,
  backfillProgressQuery,
} from '../messages.ts';
import { type InvoiceRoute, invoicePace } from './invoice-client.ts';

export interface BackfillRequest {
  readonly partnerId: string;
  readonly invoiceIds: readonly string[];
  readonly concurrency?: number;
  readonly checkAfter?: Duration;
  readonly quietAfter?: Duration;
  readonly batchSize?: number;
  readonly onSent?: (ids: number, backfillId: string) => void;
}

export interface BackfillStatus extends Omit<BackfillProgress, 'batches'> {
  readonly done: number;
  readonly inProgress: number;
}

export interface BackfillHandle {
  readonly backfillId: string;
  status(): Promise<BackfillStatus>;
  results(options?: {
    readonly signal?: AbortSignal;
    readonly everyMs?: number;
  }): AsyncIterable<BackfillOutcome>;
  control(request: BackfillControl): Promise<void>;
}

const DEFAULT_CONCURRENCY = 20;
/**
 * An id has 39 bytes, so a batch stays far below the limits of a payload and a history. At the end of each batch, few invoices run
 * at once.
 */
const BATCH_SIZE = 1_000;

export async function startBackfill(
  client: Client,
  route: InvoiceRoute,
  request: BackfillRequest,
): Promise<BackfillHandle> {
  const { partnerId, concurrency = DEFAULT_CONCURRENCY } = request;
  const { batchSize = BATCH_SIZE, checkAfter, quietAfter, onSent } = request;
  const { environment } = route;
  const backfillId = randomUUID();
  const workflowId = backfillWorkflowId(route, backfillId);
  const invoiceIds = [...new Set(request.invoiceIds)];
  const pace = invoicePace(route);
  const input = {
    ...{ environment, partnerId, concurrency },
    ...(pace ? { pace } : {}),
    ...(checkAfter ? { checkAfter } : {}),
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
        ...{ workflowId: batchId, taskQueue },
        args: [{ ...input, invoiceIds: page, control: 'pause', replyTo: workflowId }],
      });
    }
    const batch = { workflowId: batchId, size: page.length, isLast };
    const isAccepted = await unlessClosed(parent.signal(backfillBatchSignal, batch));
    if (isAccepted) onSent?.(Math.min(from + batchSize, invoiceIds.length), backfillId);
    else if (page.length > 0) {
      await unlessClosed(client.workflow.getHandle(batchId).signal(backfillControlSignal, 'cancel'));
    }
    if (isLast || !isAccepted) return followBackfill(client, route, backfillId);
  }
}

export function followBackfill(client: Client, route: InvoiceRoute, backfillId: string): BackfillHandle {
  const parent = client.workflow.getHandle<typeof backfill>(backfillWorkflowId(route, backfillId));

  async function status(): Promise<BackfillStatus> {
    const { batches, ...progress } = await parent.query(backfillProgressQuery);
    const counts: Record<keyof BackfillCounts, number> = { ...progress.counts };
    let inProgress = 0;
    for (const { workflowId, state } of batches) {
      if (state !== 'running') continue;
      const batch = await progressOf(workflowId);
      inProgress += batch.inProgress;
      for (const outcome of batch.results) counts[outcome.state] += 1;
    }
    const done = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { ...progress, counts, done, inProgress };
  }

  async function progressOf(
    workflowId: string,
  ): Promise<Pick<BackfillBatchProgress, 'results' | 'inProgress'>> {
    try {
      return await client.workflow
        .getHandle<typeof backfillBatch>(workflowId)
        .query(backfillBatchProgressQuery);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { results: [], inProgress: 0 };
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
    const yielded = new Map<string, number>();
    const finished = new Set<string>();
    try {
      while (!signal?.aborted) {
        const { isOver, batches } = await retryQuery(() => parent.query(backfillProgressQuery), signal);
        for (const { workflowId, state } of batches) {
          if (state === 'waiting' || finished.has(workflowId)) continue;
          const { results: found } = await retryQuery(() => progressOf(workflowId), signal);
          yield* found.slice(yielded.get(workflowId) ?? 0);
          yielded.set(workflowId, found.length);
          if (state === 'done') finished.add(workflowId);
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
    control: (request) => parent.signal(backfillControlSignal, request),
  };
}

export type { BackfillOutcome };

async function unlessClosed(signalled: Promise<void>): Promise<boolean> {
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

/** Workers restart, and machines are replaced. @throws ServiceError after five minutes; at once every other error */
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
