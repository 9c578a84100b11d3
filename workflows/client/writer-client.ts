import { randomUUID } from 'node:crypto';
import { type Client, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import {
  ActivityFailure,
  ApplicationFailure,
  arrayFromPayloads,
  type Workflow,
  type WorkflowResultType,
} from '@temporalio/common';
import { BillsyncError, EXIT } from '../../lib/errors.ts';
import type {
  Decided,
  Decision,
  Imported,
  ImportRequest,
  Publication,
  Verification,
} from '../../lib/warehouse-requests.ts';
import { taskQueues } from '../../lib/wire/names.ts';
import type { ReconcileInput, ReconcileResult, reconcile } from '../reconcile.ts';
import type { decideInvoice, importCsv, snapshot, verify } from '../writer-requests.ts';
import type { InvoiceRoute } from './invoice-client.ts';

export class WriterRequestError extends BillsyncError {
  readonly code: string;
  override readonly exitCode = EXIT.checkFailed;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type OnProgress = (done: number, of: number) => void;

type ReconcileRequest = Pick<ReconcileInput, 'isFull'>;

export function requestSnapshot(client: Client, route: InvoiceRoute): Promise<Publication> {
  return execute<typeof snapshot>(client, route, 'snapshot', []);
}

export function requestVerify(
  client: Client,
  route: InvoiceRoute,
  request: { readonly full: boolean },
  onProgress?: OnProgress,
): Promise<Verification> {
  return execute<typeof verify>(client, route, 'verify', [request], onProgress);
}

/** @param request `path` is absolute, on the worker's machine. @throws WriterRequestError */
export function requestImport(
  client: Client,
  route: InvoiceRoute,
  request: ImportRequest,
): Promise<Imported> {
  return execute<typeof importCsv>(client, route, 'importCsv', [request]);
}

export function requestDecision(client: Client, route: InvoiceRoute, decision: Decision): Promise<Decided> {
  return execute<typeof decideInvoice>(client, route, 'decideInvoice', [decision]);
}

export function requestReconcile(
  client: Client,
  route: InvoiceRoute,
  request: ReconcileRequest = {},
  onProgress?: OnProgress,
): Promise<ReconcileResult> {
  const input = { environment: route.environment, ...request };
  return execute<typeof reconcile>(client, route, 'reconcile', [input], onProgress);
}

export async function startReconcile(
  client: Client,
  route: InvoiceRoute,
  request: ReconcileRequest = {},
): Promise<string> {
  const input = { environment: route.environment, ...request };
  const started = await start<typeof reconcile>(client, route, 'reconcile', [input]);
  return started.workflowId;
}

function start<W extends Workflow>(
  client: Client,
  { environment, queues = taskQueues(environment) }: InvoiceRoute,
  workflow: string,
  args: Parameters<W>,
): Promise<WorkflowHandle<W>> {
  return client.workflow.start<Workflow>(workflow, {
    args,
    workflowId: `${workflow}/${environment}/${randomUUID()}`,
    taskQueue: queues.warehouse,
    workflowRunTimeout: '1 h',
  }) as Promise<WorkflowHandle<W>>;
}

async function execute<W extends Workflow>(
  client: Client,
  route: InvoiceRoute,
  workflow: string,
  args: Parameters<W>,
  onProgress?: OnProgress,
): Promise<WorkflowResultType<W>> {
  const started = await start<W>(client, route, workflow, args);
  const endReports =
    onProgress === undefined ? () => {} : reportProgress(client, started.workflowId, onProgress);
  try {
    return await started.result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    const inner = cause instanceof ActivityFailure ? cause.cause : cause;
    const code = inner instanceof ApplicationFailure ? (inner.type ?? 'unknown') : 'unknown';
    throw new WriterRequestError(code, inner?.message ?? error.message, { cause: error });
  } finally {
    endReports();
  }
}

const PROGRESS_INTERVAL_MS = 1_000;

function reportProgress(client: Client, workflowId: string, onProgress: OnProgress): () => void {
  let isReading = false;
  let isOver = false;
  async function report(): Promise<void> {
    if (isReading) return;
    isReading = true;
    const progress = await readProgress(client, workflowId).catch(() => null);
    isReading = false;
    if (progress !== null && !isOver) onProgress(progress.done, progress.of);
  }
  const timer = setInterval(() => void report(), PROGRESS_INTERVAL_MS).unref();
  return () => {
    isOver = true;
    clearInterval(timer);
  };
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
