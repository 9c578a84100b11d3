/** How activities are called from workflows: which queue, how long, how often again, and why. */

import {
  ActivityCancellationType,
  proxyActivities,
  proxyLocalActivities,
  type RetryPolicy,
  workflowInfo,
} from '@temporalio/workflow';
import type { BillingActivities, WarehouseActivities } from '../activities/create-activities.ts';
import type { Pace } from './pace.ts';

/** What an invoice's life needs of them. */
export type InvoiceActivities = Pick<
  BillingActivities,
  'fetchToken' | 'regenerateUrl' | 'downloadCsv' | 'exportCsv' | 'lookUpInvoice'
> &
  Pick<WarehouseActivities, 'loadInvoice' | LedgerActivity>;

/** Also by a way of its own: `recordEvent` in the process of the workflow, as part of its task. */
export type CalledActivities = InvoiceActivities & {
  readonly recordFirstEvent: InvoiceActivities['recordEvent'];
};

type LedgerActivity =
  | 'recordEvent'
  | 'recallInvoice'
  | 'recordDetails'
  | 'voidInvoice'
  | 'parkInvoice'
  | 'resumeInvoice'
  | 'noteFailure';

/** What a backfill needs to tell apart the few invoices that want a workflow. */
export type SurveyActivities = Pick<BillingActivities, 'surveyInvoices'> &
  Pick<WarehouseActivities, 'recallStandings'>;

/** The worker beats every 3 s; without, the process was killed and its attempt would hold up the invoice until its end. */
const GONE_AFTER = '15 s';

/** The queue of the one writer, beside the queue that this workflow runs on. */
export function warehouseQueue(): string {
  return workflowInfo().taskQueue.replace(/-billing$/, '-warehouse');
}

/** For the workflow of one invoice, as patient as `pace` says. */
export function invoiceActivities(pace: Pace): CalledActivities {
  const patient: RetryPolicy = {
    initialInterval: pace.retryFirst,
    backoffCoefficient: 2,
    maximumInterval: pace.retryMost,
  };
  // Counted, not timed: hours in which no worker ran are not attempts, and must not use up anybody's patience.
  const network: RetryPolicy = { ...patient, maximumAttempts: pace.retryAttempts };

  // One question, one small answer. The client's own deadlines (10 s and 20 s) end before this does, though they begin only
  // when those before it were answered.
  const quick = proxyActivities<BillingActivities>({
    startToCloseTimeout: '5 min',
    heartbeatTimeout: GONE_AFTER,
    retry: network,
  });

  // Details carry every line item: 80 MB for 300,000. The client ends what makes no progress, and before this does.
  const details = proxyActivities<BillingActivities>({
    startToCloseTimeout: '15 min',
    heartbeatTimeout: GONE_AFTER,
    retry: network,
  });

  // The heartbeat carries the bytes done; 30 s without one means that the process is gone. On cancellation we wait
  // until the download has stopped: going on beside it would void rows that it is about to bring.
  const download = proxyActivities<BillingActivities>({
    startToCloseTimeout: '15 min',
    heartbeatTimeout: '30 s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: network,
  });

  // The one writer may be busy with a large load or away; nothing is lost by waiting for it, for ever.
  const ledger = proxyActivities<WarehouseActivities>({
    taskQueue: warehouseQueue(),
    startToCloseTimeout: '5 min',
    heartbeatTimeout: GONE_AFTER,
    retry: { ...patient, maximumInterval: '1 min' },
  });

  // Wherever workflows run, the warehouse is at hand. To wait here is to keep the task open, so it is a short wait.
  const atHand = proxyLocalActivities<Pick<WarehouseActivities, 'recordEvent'>>({
    startToCloseTimeout: '1 min',
    retry: { ...patient, maximumInterval: '1 min' },
  });

  // A load cannot be half cancelled: its transaction ends first. A load that fails twenty times is no matter of
  // patience, and somebody has to hear of it.
  const load = proxyActivities<WarehouseActivities>({
    taskQueue: warehouseQueue(),
    startToCloseTimeout: '30 min',
    heartbeatTimeout: '20 s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...patient, maximumInterval: '1 min', maximumAttempts: 20 },
  });

  // One by one: proxies make their functions when asked by name, so a spread of one would be empty.
  return {
    fetchToken: quick.fetchToken,
    regenerateUrl: quick.regenerateUrl,
    lookUpInvoice: details.lookUpInvoice,
    downloadCsv: download.downloadCsv,
    exportCsv: download.exportCsv,
    recordEvent: ledger.recordEvent,
    recordFirstEvent: atHand.recordEvent,
    recallInvoice: ledger.recallInvoice,
    recordDetails: ledger.recordDetails,
    voidInvoice: ledger.voidInvoice,
    parkInvoice: ledger.parkInvoice,
    resumeInvoice: ledger.resumeInvoice,
    noteFailure: ledger.noteFailure,
    loadInvoice: load.loadInvoice,
  };
}

export function surveyActivities({ retryFirst, retryMost, retryAttempts }: Pace): SurveyActivities {
  const patient = { initialInterval: retryFirst, backoffCoefficient: 2 };

  // As patient as the workflows of the invoices, which wait for the writer for ever.
  const ledger = proxyActivities<WarehouseActivities>({
    taskQueue: warehouseQueue(),
    startToCloseTimeout: '1 min',
    heartbeatTimeout: GONE_AFTER,
    retry: { ...patient, maximumInterval: '1 min' },
  });

  // A service that asks for pauses makes a slice take long; an attempt goes on where the last one was. Who cannot be
  // asked at all is left to the invoices' workflows, which know how to wait.
  const service = proxyActivities<BillingActivities>({
    startToCloseTimeout: '10 min',
    heartbeatTimeout: GONE_AFTER,
    retry: { ...patient, maximumInterval: retryMost, maximumAttempts: retryAttempts },
  });

  return { recallStandings: ledger.recallStandings, surveyInvoices: service.surveyInvoices };
}
