/**
 * What the schedule does, and `billsync reconcile` now: finds what nobody looks after, what waits too long, and
 * whether the warehouse still is what the archive proves. Everything it starts is harmless to start twice.
 */

import { log, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { WarehouseActivities } from '../activities/create-activities.js';
import type { EnvironmentName } from '../contract/names.js';

export interface ReconcileInput {
  readonly environment: EnvironmentName;
  /** Read every file again; the schedule reads those that changed. */
  readonly isFull?: boolean;
}

export interface ReconcileResult {
  /** ISO 8601 UTC: what was due at this instant was looked after, up to the limit of a run. */
  readonly until: string;
  /** Invoices for which a workflow was started, was asked, was retried. */
  readonly watched: number;
  readonly rechecked: number;
  readonly retried: number;
  readonly needAttention: number;
  readonly quarantined: number;
  /** Acknowledged deliveries that nobody had forwarded and that were forwarded now; how many still wait. */
  readonly forwarded: number;
  readonly waiting: number;
  /** What should have come and did not; the next scheduled run tells only of what is new. */
  readonly gaps: readonly string[];
  /** What the archive had and the ledger had not. */
  readonly ingested: number;
  readonly proved: { readonly invoices: number; readonly shipments: number; readonly drift: number };
}

/** Of each kind in one run; what is left over stays due. */
const LIMIT = 1_000;

/** Answers what was started and what `verify` found; never fails because of a single invoice. */
export async function reconcile(input: ReconcileInput): Promise<ReconcileResult> {
  const { taskQueue } = workflowInfo();
  const queues = { billing: taskQueue.replace(/-warehouse$/, '-billing'), warehouse: taskQueue };
  const activities = proxyActivities<WarehouseActivities>({
    taskQueue: queues.warehouse,
    startToCloseTimeout: '50 min',
    heartbeatTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min', maximumAttempts: 10 },
  });

  const until = new Date().toISOString();
  const { forwarded, waiting } = await activities.forwardInbox({ queues });
  const { events: ingested } = await activities.ingestArchive();
  const due = await activities.findOverdue({ until, limit: LIMIT });
  await activities.lookAfterInvoices({ how: 'watch', invoices: due.unwatched, queues });
  await activities.lookAfterInvoices({ how: 'recheck', invoices: due.toRecheck, queues });
  await activities.lookAfterInvoices({ how: 'retry', invoices: due.toRetry, queues });
  const { findings: gaps } = await activities.findGaps({ known: lastResult()?.gaps ?? [] });
  const { held } = await activities.checkQuarantine();
  const { invoices, shipments, drift } = await activities.verifyWarehouse({ full: input.isFull ?? false });
  if (drift.length > 0) log.error('the warehouse differs from the archive', { drift: drift.length });
  return {
    ...{ until, ingested, needAttention: due.needAttention, quarantined: held, forwarded, waiting, gaps },
    ...{ watched: due.unwatched.length, rechecked: due.toRecheck.length, retried: due.toRetry.length },
    proved: { invoices, shipments, drift: drift.length },
  };
}

/** Of the schedule's run before this one; a run that a person asked for has none before it. */
function lastResult(): Partial<ReconcileResult> | undefined {
  return workflowInfo().lastResult as Partial<ReconcileResult> | undefined;
}
