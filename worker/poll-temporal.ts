import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Health } from '../lib/health/health.ts';
import { firstLine } from '../lib/system-errors.ts';
import { createDataConverter, encryptionKeys, type PayloadProblem } from '../lib/temporal/codec.ts';
import { connectTemporal, type TemporalConnection, temporalTarget } from '../lib/temporal/connect.ts';
import { createWorkers, type WorkerParts } from './create-workers.ts';

export interface PollOptions
  extends Omit<WorkerParts, 'connection' | 'namespace' | 'dataConverter' | 'onForeignEvent'> {
  readonly settings: Settings;
  readonly log: Logger;
  readonly health: Health;
  readonly alerts: Alerts;
  /** Called after each connection, before the first task; an error keeps the worker from polling. */
  readonly onConnected: (client: Client) => Promise<void>;
}

const CHECK_INTERVAL_MS = 2_000;
const CHECK_TIMEOUT_MS = 2_000;
/** The interval is short, because a worker often starts just before the embedded server. */
const RETRY_INTERVAL_MS = 500;

export function pollTemporal(options: PollOptions) {
  const { log, health } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const ready = Promise.withResolvers<void>();
  health.set('temporal', { isHealthy: false, detail: 'not connected yet' });

  const loop = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; ) {
      try {
        await pollUntilMoved(options, signal, () => {
          failures = 0;
          ready.resolve();
        });
      } catch (error) {
        if (signal.aborted) return;
        const detail = firstLine(error);
        if (failures % 120 === 0) log.warn({ detail }, 'the worker cannot poll Temporal; retrying');
        health.set('temporal', { isHealthy: false, detail });
        await sleep(RETRY_INTERVAL_MS, undefined, { signal }).catch(() => {});
        failures += 1;
      }
    }
  };
  const looping = loop();
  return {
    ready: ready.promise,
    async close() {
      closing.abort();
      await looping;
    },
  };
}

async function pollUntilMoved(options: PollOptions, signal: AbortSignal, onReady: () => void): Promise<void> {
  const { settings, log, health, alerts } = options;
  const connection = await connectTemporal(settings, { log });
  let native: NativeConnection | undefined;
  try {
    // This is done before the first task, because a worker with other keys would fail every task it takes.
    await options.onConnected(connection.client);
    const target = await temporalTarget(settings);
    native = await NativeConnection.connect(target.connection);
    const workers = await createWorkers({
      ...options,
      connection: native,
      namespace: target.namespace,
      dataConverter: createDataConverter(await encryptionKeys(settings, target), {
        unencrypted: 'replace',
        onProblem: (problem) => reportPayload(problem, options),
      }),
      onForeignEvent: (workflowId) => alertForeignEvent(workflowId, alerts),
    });
    const running = runAll(workers);
    running.catch(() => {}); // Awaited below; an earlier failure must not count as unhandled.
    try {
      health.set('temporal', { isHealthy: true });
      log.info({ address: target.address, queues: options.queues }, 'worker is polling');
      onReady();
      await Promise.race([running, checkUntilMoved(options, connection, signal)]);
    } finally {
      stopAll(workers);
      await running;
    }
  } finally {
    await native
      ?.close()
      .catch((error: unknown) => log.debug({ err: error }, 'the connection did not close cleanly'));
    await connection.close();
  }
}

function reportPayload(
  { kind, target, message }: PayloadProblem,
  { log, alerts }: Pick<PollOptions, 'log' | 'alerts'>,
): void {
  log.warn({ target }, message);
  if (kind === 'unencrypted') {
    alerts.raise({
      key: 'temporal/unencrypted',
      title: 'An unencrypted message reached Temporal and was ignored',
      detail: `It was addressed to ${target}. billsync encrypts all of its payloads, so another program can reach Temporal's port: close the port to others.`,
    });
    return;
  }
  alerts.raise({
    key: 'temporal/undecryptable',
    title: 'Data in Temporal cannot be decrypted with the configured keys',
    detail: `${target} waits: ${message} Add the key it was encrypted with to BILLSYNC_ENCRYPTION_KEY, after the new one.`,
  });
}

function alertForeignEvent(workflowId: string, alerts: Alerts): void {
  alerts.raise({
    key: 'temporal/foreign-event',
    title: 'An event reached the workflow of another invoice and was ignored',
    detail: `It was sent to ${workflowId}. billsync sends each event to its own invoice, so another program may have copied it in Temporal: close its port to others.`,
  });
}

async function checkUntilMoved(
  { settings, health, log }: PollOptions,
  { client, namespace, address }: TemporalConnection,
  signal: AbortSignal,
): Promise<void> {
  let wasHealthy = true;
  while (!signal.aborted) {
    const isHealthy = await client.connection
      .withDeadline(Date.now() + CHECK_TIMEOUT_MS, () =>
        client.workflowService.describeNamespace({ namespace }),
      )
      .then(() => true)
      .catch(() => false);
    if (isHealthy !== wasHealthy)
      log[isHealthy ? 'info' : 'warn']({ address, isHealthy }, 'Temporal changed its health');
    wasHealthy = isHealthy;
    health.set('temporal', isHealthy ? { isHealthy } : { isHealthy, detail: `${address} does not answer` });
    const target = await temporalTarget(settings).catch(() => null);
    if (target !== null && target.address !== address) return;
    await sleep(CHECK_INTERVAL_MS, undefined, { signal }).catch(() => {});
  }
}

/** The end of one worker ends all: with one queue unserved, invoices would wait without an error. */
async function runAll(workers: readonly Worker[]): Promise<void> {
  const runs = workers.map((worker) =>
    worker.run().catch((error: unknown) => {
      stopAll(workers);
      throw error;
    }),
  );
  const outcomes = await Promise.allSettled(runs);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

function stopAll(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}
