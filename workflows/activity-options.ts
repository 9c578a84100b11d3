import {
  ActivityCancellationType,
  proxyActivities,
  proxyLocalActivities,
  type RetryPolicy,
  workflowInfo,
} from '@temporalio/workflow';
import type { BillingActivities, Queues, WarehouseActivities } from './activities.ts';
import type { Pace } from './pace.ts';

export type InvoiceActivities = Pick<
  BillingActivities,
  'fetchToken' | 'regenerateUrl' | 'downloadCsv' | 'exportCsv' | 'lookUpInvoice'
> &
  Pick<
    WarehouseActivities,
    | 'recordEvent'
    | 'readLedger'
    | 'recordDetails'
    | 'loadInvoice'
    | 'voidInvoice'
    | 'markNeedsAttention'
    | 'clearNeedsAttention'
    | 'recordFailure'
  >;

/** The local activity runs in the workflow's own process and task. */
export type CalledActivities = InvoiceActivities & {
  readonly recordFirstEvent: InvoiceActivities['recordEvent'];
};

/** The worker sends a heartbeat every 3 s, so a missing one means that its process ended. */
const HEARTBEAT_TIMEOUT = '15 s';

export function taskQueuesOfWorkflow(): Queues {
  const prefix = workflowInfo().taskQueue.replace(/-(billing|warehouse)$/, '');
  return { billing: `${prefix}-billing`, warehouse: `${prefix}-warehouse` };
}

export function invoiceActivities(pace: Pace): CalledActivities {
  const { warehouse } = taskQueuesOfWorkflow();
  const backoff: RetryPolicy = {
    initialInterval: pace.retryFirst,
    backoffCoefficient: 2,
    maximumInterval: pace.retryMax,
  };
  // Network activities are limited by attempts, not by time: hours without a running worker are not attempts.
  const network: RetryPolicy = { ...backoff, maximumAttempts: pace.retryAttempts };
  const ledgerRetry: RetryPolicy = { ...backoff, maximumInterval: '1 min' };

  // Details contain every line item: 80 MB for 300,000. The client aborts calls without progress much earlier.
  const calls = proxyActivities<BillingActivities>({
    startToCloseTimeout: '15 min',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: network,
  });

  // A void waits until a running download or load has ended, which would otherwise add rows after it.
  const downloads = proxyActivities<BillingActivities>({
    startToCloseTimeout: '15 min',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: network,
  });

  // Calls of the ledger have no limit, because the writer may be busy with a large load, or away.
  const ledger = proxyActivities<WarehouseActivities>({
    taskQueue: warehouse,
    startToCloseTimeout: '5 min',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: ledgerRetry,
  });

  // The process that runs workflows also has the warehouse. The time limit is short, because the workflow task stays open
  // meanwhile.
  const local = proxyLocalActivities<Pick<WarehouseActivities, 'recordEvent'>>({
    startToCloseTimeout: '1 min',
    retry: ledgerRetry,
  });

  // A load that fails twenty times needs a person.
  const load = proxyActivities<WarehouseActivities>({
    taskQueue: warehouse,
    startToCloseTimeout: '30 min',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...ledgerRetry, maximumAttempts: 20 },
  });

  // The functions are listed one by one, because a proxy creates them on access.
  return {
    fetchToken: calls.fetchToken,
    regenerateUrl: calls.regenerateUrl,
    lookUpInvoice: calls.lookUpInvoice,
    downloadCsv: downloads.downloadCsv,
    exportCsv: downloads.exportCsv,
    recordEvent: ledger.recordEvent,
    recordFirstEvent: local.recordEvent,
    readLedger: ledger.readLedger,
    recordDetails: ledger.recordDetails,
    voidInvoice: ledger.voidInvoice,
    markNeedsAttention: ledger.markNeedsAttention,
    clearNeedsAttention: ledger.clearNeedsAttention,
    recordFailure: ledger.recordFailure,
    loadInvoice: load.loadInvoice,
  };
}

export type SurveyActivities = Pick<BillingActivities, 'surveyInvoices'> &
  Pick<WarehouseActivities, 'readLedgerStatuses'>;

export function surveyActivities({ retryFirst, retryMax, retryAttempts }: Pace): SurveyActivities {
  const backoff = { initialInterval: retryFirst, backoffCoefficient: 2 };
  const ledger = proxyActivities<WarehouseActivities>({
    taskQueue: taskQueuesOfWorkflow().warehouse,
    startToCloseTimeout: '1 min',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { ...backoff, maximumInterval: '1 min' },
  });
  // The time limit is long, because the service may request pauses; a retry continues after the last heartbeat.
  const service = proxyActivities<BillingActivities>({
    startToCloseTimeout: '10 min',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { ...backoff, maximumInterval: retryMax, maximumAttempts: retryAttempts },
  });
  return { readLedgerStatuses: ledger.readLedgerStatuses, surveyInvoices: service.surveyInvoices };
}
