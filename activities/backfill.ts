import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, cancellationSignal, getClient, heartbeat } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { BillingService, InvoiceDetails } from '../billing/billing-service.ts';
import { isBillingError } from '../billing/errors.ts';
import { compareDecimals } from '../lib/decimal.ts';
import { forEachBounded } from '../lib/semaphore.ts';
import type { LedgerStatus } from '../lib/warehouse-requests.ts';
import { serviceError } from '../lib/wire/service-errors.ts';
import type { BillingActivities, Finding } from '../workflows/activities.ts';
import type { backfillBatch } from '../workflows/backfill-batch.ts';
import { lookUpInvoice } from '../workflows/client/invoice-client.ts';
import type { BillingDependencies } from './dependencies.ts';
import { codeOf } from './failures.ts';
import { heartbeatEvery } from './heartbeat.ts';
import { alertRefusedCredentials } from './service-calls.ts';

type SurveyDependencies = Pick<BillingDependencies, 'service' | 'alerts'>;

const HEARTBEAT_INTERVAL_MS = 1_000;
/** A service that requests a longer pause is mistaken or hostile, so a pause ends after this time. */
const MAX_PAUSE_SECONDS = 300;

export function createBackfillActivities(
  dependencies: SurveyDependencies,
): Pick<BillingActivities, 'surveyInvoices' | 'startLookUps' | 'getBackfillStatus'> {
  return {
    // A workflow for each of a hundred thousand invoices would cost a hundred times as much. Each heartbeat contains
    // the findings, so that a retry continues after them.
    async surveyInvoices({ invoiceIds, ledgerStatuses, concurrency }) {
      const byId = new Map(ledgerStatuses.map((status) => [status.invoiceId, status]));
      const before: unknown = activityInfo().heartbeatDetails;
      const findings: (Finding | null)[] = Array.isArray(before) ? [...before] : invoiceIds.map(() => null);
      const open = invoiceIds.map((_, index) => index).filter((index) => findings[index] === null);
      const heartbeats = heartbeatEvery(HEARTBEAT_INTERVAL_MS, () => heartbeat(findings));
      const stop = new AbortController();
      const signal = AbortSignal.any([cancellationSignal(), stop.signal]);
      // Every call listens to the signal, and Node would warn about more than ten listeners.
      setMaxListeners(0, signal);
      try {
        await forEachBounded(open, Math.max(1, concurrency), async (index) => {
          const invoiceId = invoiceIds[index] ?? '';
          const ledger = byId.get(invoiceId.toLowerCase()) ?? null;
          const find = survey(dependencies, invoiceId, ledger, signal);
          findings[index] = await find.catch((error: unknown) => {
            stop.abort();
            cancellationSignal().throwIfAborted();
            throw error;
          });
        });
      } finally {
        heartbeats.stop();
        heartbeat(findings);
      }
      return findings.map((finding) => finding ?? 'work');
    },

    async startLookUps({ environment, partnerId, invoices, replyTo, queues, pace }) {
      const client = getClient();
      const route = { environment, queues, ...(pace ? { pace } : {}) };
      await Promise.all(
        invoices.map(({ invoiceId, isFileInDoubt }) => {
          const request = { replyTo, isFileInDoubt };
          return lookUpInvoice(client, route, { partnerId, invoiceId }, request);
        }),
      );
    },

    async getBackfillStatus({ workflowId }) {
      const workflow = getClient().workflow.getHandle<typeof backfillBatch>(workflowId);
      try {
        const { status } = await workflow.describe();
        if (status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW') return { state: 'open' };
        if (status.name !== 'COMPLETED') return { state: 'ended' };
        const { counts } = await workflow.result();
        return { state: 'completed', counts };
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return { state: 'ended' };
        throw error;
      }
    },
  };
}

async function survey(
  { service, alerts }: SurveyDependencies,
  invoiceId: string,
  ledger: LedgerStatus | null,
  signal: AbortSignal,
): Promise<Finding> {
  const known = checkLedger(ledger);
  if (known !== null) return known;
  for (;;) {
    try {
      const details = await alertRefusedCredentials(alerts, () => detailsOf(service, invoiceId, signal));
      // The details endpoint may not know an invoice that has a file (spec 4.4 shows no errors).
      if (details === null && ledger === null && (await hasFile(service, invoiceId, signal))) return 'work';
      return checkDetails(ledger, details);
    } catch (error) {
      if (isBillingError(error, 'overloaded')) {
        const seconds = Math.min(error.retryAfterSeconds ?? 1, MAX_PAUSE_SECONDS);
        await sleep(seconds * 1_000, undefined, { signal });
        continue;
      }
      // The invoice's own workflow has more ways to find out its state, and retries for longer.
      const scope = serviceError(codeOf(error))?.scope ?? 'service';
      if (scope !== 'service') return 'work';
      throw error;
    }
  }
}

async function detailsOf(
  service: BillingService,
  invoiceId: string,
  signal: AbortSignal,
): Promise<InvoiceDetails | null> {
  try {
    return await service.lookUpInvoice(invoiceId, { signal });
  } catch (error) {
    if (isBillingError(error, 'unknown-invoice')) return null;
    throw error;
  }
}

async function hasFile(service: BillingService, invoiceId: string, signal: AbortSignal): Promise<boolean> {
  try {
    await service.regenerateUrl(invoiceId, { signal });
    return true;
  } catch (error) {
    if (isBillingError(error, 'not-exported')) return false;
    throw error;
  }
}

/** Returns null when only the service can answer. */
export function checkLedger(ledger: LedgerStatus | null): Finding | null {
  switch (ledger?.state) {
    case undefined:
    case 'loaded':
      return null;
    case 'voided':
      return 'voided';
    case 'draft':
    case 'finalized':
    case 'needs_attention':
      return 'work';
  }
}

export function checkDetails(ledger: LedgerStatus | null, details: InvoiceDetails | null): Finding {
  if (ledger === null) return details === null ? 'unknown' : 'work';
  // A failure that the workflow has recorded is resolved only by the workflow.
  if (ledger.isUnanswered) return 'work';
  // An event or the details void an invoice; a 404 does not.
  if (details === null) return 'loaded';
  if (details.unknownStatus !== null) return 'work';
  if (details.status !== null && details.status !== 'finalized') return 'work';
  return matchesTotals(ledger, details) ? 'loaded' : 'file-in-doubt';
}

/** A header that contradicts the rows is a recorded discrepancy; only other values are new. */
function matchesTotals(ledger: LedgerStatus, { header }: InvoiceDetails): boolean {
  const { invoiceTotalAmount: total, totalTransactionCount: count } = header;
  const totals = [ledger.statedTotal, ledger.billingCost].filter((known) => known !== null);
  const counts = [ledger.statedShipments, ledger.shipments].filter((known) => known !== null);
  const isKnownTotal = total === undefined || totals.some((known) => compareDecimals(known, total) === 0);
  return isKnownTotal && (count === undefined || counts.includes(count));
}
