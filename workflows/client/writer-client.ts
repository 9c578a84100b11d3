/** Sends requests to the running worker that only the single writer may perform, and waits for the result. */

import { randomUUID } from 'node:crypto';
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ActivityFailure, ApplicationFailure, arrayFromPayloads } from '@temporalio/common';
import { BillsyncError, EXIT } from '../../lib/wire/errors.ts';
import { taskQueues } from '../../lib/wire/names.ts';
import type {
  Decided,
  Decision,
  Imported,
  ImportRequest,
  Publication,
  Verification,
} from '../../lib/wire/warehouse-requests.ts';
import type { ReconcileResult, reconcile } from '../reconcile.ts';
import type { decideInvoice, importCsv, snapshot, verify } from '../writer-requests.ts';
import type { InvoiceRoute } from './invoice-client.ts';

/** The worker's activity failed; the message is the worker's. */
export class WriterRequestError extends BillsyncError {
  /** Code of the worker's error, e.g. `publication-failed`. */
  readonly code: string;
  override readonly exitCode = EXIT.checkFailed;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type OnProgress = (done: number, of: number) => void;

/** Publishes everything committed before the call. @throws WriterRequestError */
export function requestSnapshot(client: Client, route: InvoiceRoute): Promise<Publication> {
  return resultOf(() =>
    client.workflow.execute<typeof snapshot>('snapshot', startOptions(route, 'snapshot')),
  );
}

/**
 * Returns the first 200 differences and their number.
 *
 * @param onProgress called about once a second with the number of verified invoices
 * @throws WriterRequestError
 */
export function requestVerify(
  client: Client,
  route: InvoiceRoute,
  request: { readonly full: boolean },
  onProgress?: OnProgress,
): Promise<Verification> {
  const options = startOptions(route, 'verify');
  return resultOf(() =>
    withProgress(client, options.workflowId, onProgress, () =>
      client.workflow.execute<typeof verify>('verify', { ...options, args: [request] }),
    ),
  );
}

/** @param request `path` is absolute, on the worker's machine. @throws WriterRequestError */
export function requestImport(
  client: Client,
  route: InvoiceRoute,
  request: ImportRequest,
): Promise<Imported> {
  const options = startOptions(route, 'import');
  return resultOf(() =>
    client.workflow.execute<typeof importCsv>('importCsv', { ...options, args: [request] }),
  );
}

/** Records a person's decision about an invoice. @throws WriterRequestError */
export function requestDecision(client: Client, route: InvoiceRoute, decision: Decision): Promise<Decided> {
  const options = startOptions(route, 'decide');
  return resultOf(() =>
    client.workflow.execute<typeof decideInvoice>('decideInvoice', { ...options, args: [decision] }),
  );
}

/** Runs a reconciliation to its end. @throws WriterRequestError */
export function requestReconcile(
  client: Client,
  route: InvoiceRoute,
  request: { readonly isFull?: boolean } = {},
  onProgress?: OnProgress,
): Promise<ReconcileResult> {
  const options = reconcileOptions(route, request);
  return resultOf(() =>
    withProgress(client, options.workflowId, onProgress, () =>
      client.workflow.execute<typeof reconcile>('reconcile', options),
    ),
  );
}

/** Starts a reconciliation without waiting for it. @returns the workflow's id */
export async function startReconcile(
  client: Client,
  route: InvoiceRoute,
  request: { readonly isFull?: boolean } = {},
): Promise<string> {
  const options = reconcileOptions(route, request);
  return (await client.workflow.start<typeof reconcile>('reconcile', options)).workflowId;
}

function reconcileOptions(route: InvoiceRoute, request: { readonly isFull?: boolean }) {
  const args: Parameters<typeof reconcile> = [{ environment: route.environment, ...request }];
  return { ...startOptions(route, 'reconcile'), args };
}

function startOptions(route: InvoiceRoute, kind: string) {
  const { environment } = route;
  return {
    workflowId: `${kind}/${environment}/${randomUUID()}`,
    taskQueue: (route.queues ?? taskQueues(environment)).warehouse,
    workflowRunTimeout: '1 h',
  } as const;
}

async function resultOf<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    const inner = cause instanceof ActivityFailure ? cause.cause : cause;
    const code = inner instanceof ApplicationFailure ? (inner.type ?? 'unknown') : 'unknown';
    throw new WriterRequestError(code, inner?.message ?? error.message, { cause: error });
  }
}

const PROGRESS_INTERVAL_MS = 1_000;

/** Reports the progress that the workflow's activity sends with its heartbeats. */
async function withProgress<T>(
  client: Client,
  workflowId: string,
  onProgress: OnProgress | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (onProgress === undefined) return work();
  let isReading = false;
  let isOver = false;
  async function report(onProgress: OnProgress): Promise<void> {
    if (isReading) return;
    isReading = true;
    // A failed read is not a failure of the work.
    const progress = await readProgress(client, workflowId).catch(() => null);
    isReading = false;
    if (progress !== null && !isOver) onProgress(progress.done, progress.of);
  }
  const timer = setInterval(() => void report(onProgress), PROGRESS_INTERVAL_MS).unref();
  return work().finally(() => {
    isOver = true;
    clearInterval(timer);
  });
}

interface Progress {
  readonly done: number;
  readonly of: number;
}

async function readProgress(client: Client, workflowId: string): Promise<Progress | null> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  for (const { heartbeatDetails } of raw.pendingActivities ?? []) {
    let payloads = heartbeatDetails?.payloads ?? [];
    for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
    const [details] = arrayFromPayloads(payloadConverter, payloads) ?? [];
    if (isProgress(details)) return details;
  }
  return null;
}

function isProgress(details: unknown): details is Progress {
  if (typeof details !== 'object' || details === null) return false;
  const { done, of } = details as Partial<Record<keyof Progress, unknown>>;
  return typeof done === 'number' && typeof of === 'number';
}
