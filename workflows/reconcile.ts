/**
 * What the schedule does, and `billsync reconcile` now: finds what nobody looks after, what waits too long, and
 * whether the warehouse still is what the archive proves. Everything it starts is harmless to start twice.
 */

import { log, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { WarehouseActivities } from '../activities/create-activities.ts';
import type { FindOverdueResult } from '../activities/find-overdue.ts';
import type { EnvironmentName } from '../lib/wire/names.ts';
import type { Verification } from '../warehouse/warehouse.ts';
import { failureOf } from './failure.ts';

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
  /** What should have come and did not, the first 200; the next scheduled run tells only of what is new. */
  readonly gaps: readonly string[];
  /** For that run: a digest of each. */
  readonly gapsTold: string;
  /** What the archive had and the ledger had not. */
  readonly ingested: number;
  readonly proved: { readonly invoices: number; readonly shipments: number; readonly drift: number };
}

/** Of each kind in one run; what is left over stays due. */
const LIMIT = 1_000;

const NOTHING_DUE: FindOverdueResult = { unwatched: [], toRecheck: [], toRetry: [], needAttention: 0 };
const NOTHING_PROVED: Verification = { invoices: 0, shipments: 0, filesRead: 0, drift: [], discrepancies: 0 };

/**
 * Answers what was started and what `verify` found; never fails because of a single invoice.
 *
 * @throws ActivityFailure of the first part that failed, once all others are done
 */
export async function reconcile(input: ReconcileInput): Promise<ReconcileResult> {
  const { taskQueue } = workflowInfo();
  const queues = { billing: taskQueue.replace(/-warehouse$/, '-billing'), warehouse: taskQueue };
  const activities = proxyActivities<WarehouseActivities>({
    taskQueue: queues.warehouse,
    startToCloseTimeout: '50 min',
    heartbeatTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min', maximumAttempts: 10 },
  });

  const failures: unknown[] = [];
  /** What one part cannot do keeps no other from being done: a damaged archive must not hide a lost void. */
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
  const left = await part(() => activities.forwardInbox({ queues }), { forwarded: 0, waiting: 0 });
  const { events: ingested } = await part(() => activities.ingestArchive(), { events: 0 });
  const due = await part(() => activities.findOverdue({ until, limit: LIMIT }), NOTHING_DUE);
  for (const [how, invoices] of [
    ['watch', due.unwatched],
    ['recheck', due.toRecheck],
    ['retry', due.toRetry],
  ] as const) {
    await part(() => activities.lookAfterInvoices({ how, invoices, queues }), undefined);
  }
  const { gapsTold: told = '' } = lastResult() ?? {};
  const missing = await part(() => activities.findGaps({ told }), { findings: [], told, gaps: 0 });
  const { findings: gaps, told: gapsTold } = missing;
  const { held } = await part(() => activities.checkQuarantine(), { held: 0, olderThanADay: 0 });
  const proof = await part(() => activities.verifyWarehouse({ full: input.isFull ?? false }), NOTHING_PROVED);
  const { invoices, shipments, driftInAll: drift = proof.drift.length } = proof;
  if (drift > 0) log.error('the warehouse differs from the archive', { drift });
  // All that could be done is done; that the rest was not, whoever asked is told.
  if (failures.length > 0) throw failures[0];
  return {
    ...{ until, ingested, needAttention: due.needAttention, quarantined: held, ...left, gaps, gapsTold },
    ...{ watched: due.unwatched.length, rechecked: due.toRecheck.length, retried: due.toRetry.length },
    proved: { invoices, shipments, drift },
  };
}

/** Of the schedule's run before this one; a run that a person asked for has none before it. */
function lastResult(): ReconcileResult | undefined {
  return workflowInfo().lastResult as ReconcileResult | undefined;
}
