import { log, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { Verification } from '../lib/warehouse-requests.ts';
import type { EnvironmentName } from '../lib/wire/names.ts';
import type { FindOverdueResult, WarehouseActivities } from './activities.ts';
import { taskQueuesOfWorkflow } from './activity-options.ts';
import { failureOf } from './failure.ts';

export interface ReconcileInput {
  readonly environment: EnvironmentName;
  /** The schedule reads only files that changed. */
  readonly isFull?: boolean;
}

export interface ReconcileResult {
  /** ISO 8601 UTC: everything that was due by then was processed, up to the limit of a run. */
  readonly until: string;
  readonly watched: number;
  readonly rechecked: number;
  readonly retried: number;
  readonly needAttention: number;
  readonly quarantined: number;
  readonly forwarded: number;
  readonly waiting: number;
  readonly gaps: readonly string[];
  readonly reportedGaps: string;
  readonly ingested: number;
  readonly proved: { readonly invoices: number; readonly shipments: number; readonly drift: number };
}

/** A run processes at most this many invoices of each kind; the others stay due. */
const LIMIT = 1_000;

const NOTHING_DUE: FindOverdueResult = {
  ...{ unwatched: [], toRecheck: [], toRetry: [] },
  ...{ needAttention: 0, quarantined: 0 },
};
const NOTHING_VERIFIED: Verification = {
  invoices: 0,
  shipments: 0,
  filesRead: 0,
  drift: [],
  discrepancies: 0,
};

export async function reconcile(input: ReconcileInput): Promise<ReconcileResult> {
  const queues = taskQueuesOfWorkflow();
  const activities = proxyActivities<WarehouseActivities>({
    taskQueue: queues.warehouse,
    startToCloseTimeout: '50 min',
    heartbeatTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min', maximumAttempts: 10 },
  });

  const failures: unknown[] = [];
  /** A part that fails leaves the others independent, because a damaged archive must not hide a lost void. */
  async function part<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { code, activity } = failureOf(error);
      log.error('a part of the reconciliation failed', { code, activity });
      failures.push(error);
      return otherwise;
    }
  }

  const until = new Date().toISOString();
  const inbox = await part(() => activities.forwardInbox({ queues }), { forwarded: 0, waiting: 0 });
  const { events: ingested } = await part(() => activities.ingestArchive(), { events: 0 });
  await part(() => activities.confirmAnnounced({ queues }), undefined);
  const due = await part(() => activities.findOverdue({ until, limit: LIMIT }), NOTHING_DUE);
  for (const [action, invoices] of [
    ['watch', due.unwatched],
    ['recheck', due.toRecheck],
    ['retry', due.toRetry],
  ] as const) {
    await part(() => activities.reconcileInvoices({ action, invoices, queues }), undefined);
  }
  // Only a scheduled run has the result of a previous one.
  const previous = workflowInfo().lastResult as ReconcileResult | undefined;
  const reported = previous?.reportedGaps ?? '';
  const gaps = await part(() => activities.findGaps({ reported }), { findings: [], reported, gaps: 0 });
  const full = input.isFull ?? false;
  const verified = await part(() => activities.verifyWarehouse({ full }), NOTHING_VERIFIED);
  const { invoices, shipments, driftInAll: drift = verified.drift.length } = verified;
  if (drift > 0) log.error('the warehouse differs from the archive', { drift });
  if (failures.length > 0) throw failures[0];
  return {
    ...{ until, ingested, needAttention: due.needAttention, quarantined: due.quarantined, ...inbox },
    ...{ gaps: gaps.findings, reportedGaps: gaps.reported },
    ...{ watched: due.unwatched.length, rechecked: due.toRecheck.length, retried: due.toRetry.length },
    proved: { invoices, shipments, drift },
  };
}
