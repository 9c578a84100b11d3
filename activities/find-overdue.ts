/**
 * Finds the invoices that nobody looks after: unfinished without an open run, loaded ones whose void may have been
 * lost, parked ones worth another try.
 */

import { getClient, heartbeat } from '@temporalio/activity';
import { type EnvironmentName, invoiceWorkflowId } from '../contract/names.js';
import type { InvoiceSummary } from '../warehouse/warehouse.js';
import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';

export interface FindOverdueRequest {
  /** ISO 8601 UTC: what came due after `since` and not after `until`. */
  readonly since: string;
  readonly until: string;
  /** At most so many of each kind; the rest is found by the next run. */
  readonly limit: number;
}

export interface DueInvoice {
  readonly partnerId: string;
  readonly invoiceId: string;
}

export interface FindOverdueResult {
  /** Draft or finalized, and no workflow is open: start one. */
  readonly unwatched: readonly DueInvoice[];
  /** Loaded: ask the details whether it was voided since. */
  readonly toRecheck: readonly DueInvoice[];
  /** Parked for something that may have passed (not for a file that breaks a rule). */
  readonly toRetry: readonly DueInvoice[];
  readonly needAttention: number;
}

const DAY_MS = 86_400_000;
/** A file that breaks a rule breaks it tomorrow: only a new one helps (faults: not retried until new hash). */
const NEVER_RETRIED = new Set(['csv-rejected']);

export function findOverdue({ warehouse, settings }: WarehouseDependencies) {
  return (request: FindOverdueRequest): Promise<FindOverdueResult> =>
    translated(async () => {
      const window = { since: Date.parse(request.since), until: Date.parse(request.until) };
      const all = await warehouse.invoices({ states: ['draft', 'finalized', 'loaded', 'needs_attention'] });
      heartbeat();
      const known = all.flatMap((invoice) => {
        const partnerId = invoice.partnerId ?? settings.partnerId;
        return partnerId === null ? [] : [{ ...invoice, partnerId }];
      });
      const unfinished = known.filter(({ state }) => state === 'draft' || state === 'finalized');
      const open = unfinished.length === 0 ? new Set() : await openInvoices(settings.environment);
      const isOpen = ({ partnerId, invoiceId }: DueInvoice): boolean =>
        open.has(invoiceWorkflowId({ environment: settings.environment, partnerId, invoiceId }));
      const parked = known.filter(({ state }) => state === 'needs_attention');
      const loaded = known.filter(({ state }) => state === 'loaded');
      const take = (invoices: readonly DueInvoice[]) =>
        invoices.slice(0, request.limit).map(({ partnerId, invoiceId }) => ({ partnerId, invoiceId }));
      return {
        unwatched: take(unfinished.filter((invoice) => !isOpen(invoice))),
        toRecheck: take(
          loaded.filter((invoice) => isRecheckDue(invoice, window, settings.recheckLoadedDays)),
        ),
        toRetry: take(
          parked.filter(
            ({ reasonCode, stateSince }) =>
              !NEVER_RETRIED.has(reasonCode ?? '') && comesDue(Date.parse(stateSince), DAY_MS, window),
          ),
        ),
        needAttention: parked.length,
      };
    });
}

/** Daily for a week after the load, then weekly, until so many days after the invoice date. */
export function isRecheckDue(
  { stateSince, header }: Pick<InvoiceSummary, 'stateSince' | 'header'>,
  window: Window,
  days: number,
): boolean {
  const since = Date.parse(stateSince);
  const invoiceDate = Date.parse(header.invoiceDate ?? stateSince);
  if (window.until - invoiceDate > days * DAY_MS) return false;
  const period = window.until - since <= 7 * DAY_MS ? DAY_MS : 7 * DAY_MS;
  return comesDue(since, period, window);
}

interface Window {
  readonly since: number;
  readonly until: number;
}

/** Whether a multiple of `period` after `start` lies in the window: each is found by one run, however often they run. */
function comesDue(start: number, period: number, { since, until }: Window): boolean {
  const last = start + Math.floor((until - start) / period) * period;
  return last > start && last > since;
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
