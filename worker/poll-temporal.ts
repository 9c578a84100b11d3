/**
 * Keeps the two Temporal workers running for as long as the process does: starts without Temporal, waits for it,
 * survives its restarts, follows it to another address.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { type ActivityInterceptorsFactory, NativeConnection, type Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { BillingActivities, WarehouseActivities } from '../activities/create-activities.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Health } from '../lib/health/health.ts';
import { createDataConverter, encryptionKeys, type PayloadProblem } from '../lib/temporal/codec.ts';
import {
  connectTemporal,
  readEmbeddedRecord,
  TemporalUnreachableError,
  temporalTarget,
} from '../lib/temporal/connect.ts';
import { createWorkers, type QueueNames } from './create-workers.ts';
import { workflowBundle } from './workflow-bundle.ts';

export interface PollOptions {
  readonly settings: Settings;
  readonly queues: QueueNames;
  /** With what workflows call in their own process. */
  readonly billing: BillingActivities & Pick<WarehouseActivities, 'recordEvent'>;
  readonly warehouse: WarehouseActivities;
  readonly log: Logger;
  readonly health: Health;
  readonly alerts: Alerts;
  /** Sees every attempt of every activity. */
  readonly watch: ActivityInterceptorsFactory;
  /** Told of every new connection, before tasks are taken from it; its error keeps the worker from taking any. */
  readonly onConnected: (client: Client) => Promise<void>;
}

export interface Polling {
  /** Resolves when both workers poll for the first time. */
  readonly ready: Promise<void>;
  /** Takes no more tasks, lets running activities end within their grace, and disconnects. */
  close(): Promise<void>;
}

const CHECK_INTERVAL_MS = 2_000;
const MAX_PAUSE_MS = 5_000;
/** Interval at which the small file of an embedded server is read. */
const RECORD_INTERVAL_MS = 50;

export function pollTemporal(options: PollOptions): Polling {
  const { log, health } = options;
  const closing = new AbortController();
  let reportReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    reportReady = resolve;
  });
  const away = (detail: string): void => health.set('temporal', { isHealthy: false, detail });
  away('not connected yet');

  const loop = async (): Promise<void> => {
    for (let failures = 0; !closing.signal.aborted; ) {
      try {
        await serve(options, closing.signal, () => {
          failures = 0;
          reportReady();
        });
      } catch (error) {
        if (closing.signal.aborted) return;
        const detail = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
        if (failures % 20 === 0) log.warn({ detail }, 'no task is taken from Temporal; trying again');
        away(detail);
        const maxMs = Math.min(250 * 2 ** failures, MAX_PAUSE_MS);
        await waitForServer(error, maxMs, options.settings, closing.signal).catch(() => {});
        failures += 1;
      }
    }
  };
  const looping = loop();
  return {
    ready,
    async close() {
      closing.abort(new Error('closing'));
      await looping;
    },
  };
}

/** Waits `maxMs`, or until an embedded server that was not running, or ran elsewhere, has started. */
async function waitForServer(
  error: unknown,
  maxMs: number,
  settings: Settings,
  signal: AbortSignal,
): Promise<void> {
  if (settings.temporalConfigured || !(error instanceof TemporalUnreachableError)) {
    await sleep(maxMs, undefined, { signal });
    return;
  }
  const until = performance.now() + maxMs;
  while (performance.now() < until) {
    const record = await readEmbeddedRecord(settings.dataDir);
    if (record !== null && record.address !== error.address) return;
    await sleep(RECORD_INTERVAL_MS, undefined, { signal });
  }
}

/** One connection's life: ends when the signal aborts, when Temporal moves, or with the error of a worker. */
async function serve(options: PollOptions, signal: AbortSignal, onReady: () => void): Promise<void> {
  const { settings, log, health } = options;
  const connection = await connectTemporal(settings, { log });
  let native: NativeConnection | undefined;
  try {
    // Before the first task: who cannot read what the others wrote would take tasks only to fail them.
    await options.onConnected(connection.client);
    const target = await temporalTarget(settings);
    native = await NativeConnection.connect(target.connection);
    const workers = await createWorkers({
      connection: native,
      namespace: target.namespace,
      queues: options.queues,
      bundle: await workflowBundle(),
      dataConverter: createDataConverter(await encryptionKeys(settings, target), {
        unencrypted: 'replace',
        onProblem: (problem) => reportPayload(problem, options),
      }),
      billing: options.billing,
      warehouse: options.warehouse,
      watch: options.watch,
      onForeignEvent: (workflowId) => tellOfForeignEvent(workflowId, options.alerts),
    });
    const running = runAll(workers);
    running.catch(() => {}); // Awaited below; a failure before that must not count as unhandled.
    try {
      health.set('temporal', { isHealthy: true });
      log.info({ address: target.address, queues: options.queues }, 'worker is polling');
      onReady();
      await Promise.race([running, watch(options, connection, signal)]);
    } finally {
      stopAll(workers);
      await running;
    }
  } finally {
    await native?.close().catch((error: unknown) => log.debug({ err: error }, 'connection closed badly'));
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
    title: 'Data in Temporal cannot be decrypted with the keys that are set',
    detail: `${target} waits: ${message} Add the key it was encrypted with to BILLSYNC_ENCRYPTION_KEY, after the new one.`,
  });
}

function tellOfForeignEvent(workflowId: string, alerts: Alerts): void {
  alerts.raise({
    key: 'temporal/foreign-event',
    title: 'An event reached the workflow of another invoice and was ignored',
    detail: `It was sent to ${workflowId}. Ours go where they belong, so it may be a copy that somebody made in Temporal: close its port to others.`,
  });
}

/** Says in health whether Temporal answers; returns when it has moved or we are closing. */
async function watch(
  { settings, health, log }: PollOptions,
  connection: { readonly client: Client; readonly namespace: string; readonly address: string },
  signal: AbortSignal,
): Promise<void> {
  const { client, namespace, address } = connection;
  let wasHealthy = true;
  while (!signal.aborted) {
    const isHealthy = await client.connection
      .withDeadline(Date.now() + 2_000, () => client.workflowService.describeNamespace({ namespace }))
      .then(() => true)
      .catch(() => false);
    if (isHealthy !== wasHealthy)
      log[isHealthy ? 'info' : 'warn']({ address, isHealthy }, 'Temporal changed');
    wasHealthy = isHealthy;
    health.set('temporal', isHealthy ? { isHealthy } : { isHealthy, detail: `${address} does not answer` });
    const target = await temporalTarget(settings).catch(() => null);
    if (target !== null && target.address !== address) return;
    await sleep(CHECK_INTERVAL_MS, undefined, { signal }).catch(() => {});
  }
}

/** Both run or neither: a half-served invoice would wait for the other queue without a word. */
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
