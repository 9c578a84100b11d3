/**
 * Finds the invoices that nobody looks after: unfinished without an open run (a void that was not confirmed and a file
 * that may be repaired among them), loaded ones whose void may have been lost, parked ones worth another try.
 */

import { getClient, heartbeat } from '@temporalio/activity';
import { type EnvironmentName, invoiceWorkflowId } from '../lib/wire/names.ts';
import type { DueInvoice } from '../warehouse/warehouse.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface FindOverdueRequest {
  /** ISO 8601 UTC: what came due up to then and was not looked after since. */
  readonly until: string;
  /** At most so many of each kind; the others stay due. */
  readonly limit: number;
}

export interface FindOverdueResult {
  /** No workflow is open and one should be: not loaded, a void to confirm, a file that may be repaired. Start one. */
  readonly unwatched: readonly DueInvoice[];
  /** Loaded: ask the details whether it was voided since. */
  readonly toRecheck: readonly DueInvoice[];
  /** Parked for something that may have passed (not for a file that breaks a rule). */
  readonly toRetry: readonly DueInvoice[];
  readonly needAttention: number;
}

/** Its open workflow (one is started where none is) asks whether the service has repaired the file; the same bytes would be refused again. */
const NEVER_RETRIED = ['csv-rejected'];

export function findOverdue({ warehouse, settings, service }: WarehouseDependencies) {
  return ({ until, limit }: FindOverdueRequest): Promise<FindOverdueResult> =>
    translated(async () => {
      const { environment, recheckLoadedDays: recheckDays, confirmVoids } = settings;
      // A refused delivery does not name its partner: the invoice belongs to the one of the token or the settings.
      const partnerId = settings.partnerId ?? service.partnerIds()[0] ?? null;
      const of = { partnerId, confirmVoids, neverRetried: NEVER_RETRIED };
      const due = await warehouse.due({ until, limit, recheckDays, ...of });
      heartbeat();
      const { unfinished, ...others } = due;
      const open = unfinished.length === 0 ? new Set() : await openInvoices(environment);
      const unwatched = unfinished.filter(
        (invoice) => !open.has(invoiceWorkflowId({ environment, ...invoice })),
      );
      return { unwatched: unwatched.slice(0, limit), ...others };
    });
}

async function openInvoices(environment: EnvironmentName): Promise<ReadonlySet<string>> {
  const query = `WorkflowType = 'invoice' AND ExecutionStatus = 'Running' AND Environment = '${environment}'`;
  const open = new Set<string>();
  for await (const { workflowId } of getClient().workflow.list({ query, pageSize: 1_000 })) {
    open.add(workflowId);
    if (open.size % 1_000 === 0) heartbeat();
  }
  return open;
}
