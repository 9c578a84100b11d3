/** Asks the running worker for what only the one writer may do, and waits for its answer. */

import { randomUUID } from 'node:crypto';
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { BillsyncError, EXIT } from '../../lib/wire/errors.ts';
import { taskQueues } from '../../lib/wire/names.ts';
import type { Imported, ImportRequest } from '../../warehouse/import/import-files.ts';
import type { Decided, Decision, Publication, Verification } from '../../warehouse/warehouse.ts';
import type { ReconcileResult, reconcile } from '../reconcile.ts';
import type { decideInvoice, importCsv, snapshot, verify } from '../writer-requests.ts';
import type { InvoiceRoute } from './invoice-client.ts';
import { type OnProgress, watchProgress } from './watch-progress.ts';

/** The worker could not do what it was asked. The message is the worker's own. */
export class WriterRequestError extends BillsyncError {
  /** The code of the error that the worker met, e.g. `publication-failed`../../lib/temporal */
  readonly code: string;
  override readonly exitCode = EXIT.checkFailed;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Publishes now, with everything committed before the call in it. @throws WriterRequestError */
export function askSnapshot(client: Client, route: InvoiceRoute): Promise<Publication> {
  return answered(() => client.workflow.execute<typeof snapshot>('snapshot', options(route, 'snapshot')));
}

/**
 * Proves the warehouse. Of a large drift the first 200 differences come back, with their number.
 *
 * @param onProgress hears about once a second how many invoices are proved
 * @throws WriterRequestError
 */
export function askVerify(
  client: Client,
  route: InvoiceRoute,
  request: { readonly full: boolean },
  onProgress?: OnProgress,
): Promise<Verification> {
  const how = options(route, 'verify');
  return answered(() =>
    watched(client, how.workflowId, onProgress, () =>
      client.workflow.execute<typeof verify>('verify', { ...how, args: [request] }),
    ),
  );
}

/** Imports a file that lies on the worker's machine; `path` is absolute. @throws WriterRequestError */
export function askImport(client: Client, route: InvoiceRoute, request: ImportRequest): Promise<Imported> {
  return answered(() =>
    client.workflow.execute<typeof importCsv>('importCsv', { ...options(route, 'import'), args: [request] }),
  );
}

/** Records what a person decided about an invoice. @throws WriterRequestError */
export function askDecision(client: Client, route: InvoiceRoute, decision: Decision): Promise<Decided> {
  return answered(() =>
    client.workflow.execute<typeof decideInvoice>('decideInvoice', {
      ...options(route, 'decide'),
      args: [decision],
    }),
  );
}

/** What the schedule does, now; resolves when all of it is done. @throws WriterRequestError */
export function askReconcile(
  client: Client,
  route: InvoiceRoute,
  request: { readonly isFull?: boolean } = {},
  onProgress?: OnProgress,
): Promise<ReconcileResult> {
  const how = options(route, 'reconcile');
  return answered(() =>
    watched(client, how.workflowId, onProgress, () =>
      client.workflow.execute<typeof reconcile>('reconcile', {
        ...how,
        args: [{ environment: route.environment, ...request }],
      }),
    ),
  );
}

/** Starts what the schedule does and does not wait. @returns the workflow's id */
export async function startReconcile(
  client: Client,
  route: InvoiceRoute,
  request: { readonly isFull?: boolean } = {},
): Promise<string> {
  const { workflowId } = await client.workflow.start<typeof reconcile>('reconcile', {
    ...options(route, 'reconcile'),
    args: [{ environment: route.environment, ...request }],
  });
  return workflowId;
}

function options(route: InvoiceRoute, what: string) {
  const { environment } = route;
  return {
    workflowId: `${what}/${environment}/${randomUUID()}`,
    taskQueue: (route.queues ?? taskQueues(environment)).warehouse,
    workflowRunTimeout: '1 h',
  } as const;
}

async function watched<T>(
  client: Client,
  workflowId: string,
  onProgress: OnProgress | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  if (onProgress === undefined) return ask();
  const watching = watchProgress(client, workflowId, onProgress);
  return ask().finally(() => watching.stop());
}

async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    const inner = cause instanceof ActivityFailure ? cause.cause : cause;
    const code = inner instanceof ApplicationFailure ? (inner.type ?? 'unknown') : 'unknown';
    throw new WriterRequestError(code, inner?.message ?? error.message, { cause: error });
  }
}
