/** Checks of what this process depends on: disk, DuckDB, the lake's locks, Temporal and the billing service, publication. */

import { statfs } from 'node:fs/promises';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { type Check, type Health, watchTask } from '../lib/health/health.ts';
import { overdueCall, passTime } from '../lib/health/native-calls.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { PublishedWarehouse } from '../warehouse/publisher.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

interface Sinks {
  readonly health: Health;
  readonly alerts: Alerts;
}

const SECOND_MS = 1_000;
const MIB = 1024 ** 2;
/** Below this, downloads stop; loads and publications stop at half of it; deliveries are accepted to the last byte. */
const MIN_FREE_BYTES = 64 * MIB;

export function diskCheck({
  dataDir,
  health,
  alerts,
  metrics,
}: Sinks & { readonly dataDir: string; readonly metrics: Metrics }): Check {
  const freeBytes = metrics.gauge('disk_free_bytes');
  const sizeBytes = metrics.gauge('disk_size_bytes');
  async function check(): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(dataDir);
    const free = bavail * bsize;
    freeBytes.set(free);
    sizeBytes.set(blocks * bsize);
    const isHealthy = free >= MIN_FREE_BYTES;
    if (isHealthy) {
      health.set('disk', { isHealthy });
      alerts.resolve('disk/full');
      return;
    }
    const detail = `${Math.floor(free / MIB)} MiB are free at ${dataDir}; below ${MIN_FREE_BYTES / MIB} MiB nothing new is downloaded.`;
    health.set('disk', { isHealthy, detail });
    alerts.raise({ key: 'disk/full', title: 'The disk is nearly full', detail });
  }
  return {
    component: 'disk',
    everyMs: 2 * SECOND_MS,
    // A folder whose volume was unmounted cannot be read.
    run: () =>
      check().catch(({ message }: Error) => health.set('disk', { isHealthy: false, detail: message })),
  };
}

/** For the alert to be sent. */
const END_DELAY_MS = 5_000;

/** Ends the process when a DuckDB call hangs; the supervisor restarts it, and Temporal retries the activities. */
export function duckDbCheck({
  health,
  alerts,
  endProcess = killOwnProcess,
}: Sinks & { readonly endProcess?: () => void }): Check {
  let isEnding = false;
  function check(): void {
    passTime(SECOND_MS);
    const statement = overdueCall();
    if (statement === null || isEnding) return;
    isEnding = true;
    const detail = `DuckDB does not return from: ${statement}`;
    health.set('duckdb', { isHealthy: false, detail });
    alerts.raise({ key: 'duckdb', title: 'DuckDB does not answer; the worker ends', detail });
    setTimeout(endProcess, END_DELAY_MS);
  }
  return { component: 'duckdb', everyMs: SECOND_MS, run: check };
}

/** `process.exit` would wait for the thread that waits for DuckDB. */
function killOwnProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Names the process that holds the PostgreSQL locks that loads wait for. */
export function lakeCheck(warehouse: Pick<Warehouse, 'blockedBy'>, { health, alerts }: Sinks): Check {
  async function check(): Promise<void> {
    // The loads themselves report that PostgreSQL does not answer.
    const holder = (await warehouse.blockedBy?.().catch(() => null)) ?? null;
    const detail = holder === null ? '' : `It waits for ${holder}.`;
    if (holder !== null || health.report().components['lake locks'] !== undefined)
      health.set('lake locks', { isHealthy: holder === null, detail, isOutside: true });
    if (holder === null) alerts.resolve('lake/blocked');
    else alerts.raise({ key: 'lake/blocked', title: 'Loading waits for another process', detail });
  }
  return { component: 'lake locks', everyMs: 10 * SECOND_MS, run: check };
}

const EXTERNAL_SERVICES = [
  {
    component: 'temporal',
    key: 'temporal/away',
    title: 'Temporal does not answer',
    advice: 'Deliveries are kept; nothing is downloaded or loaded until it is back.',
  },
  {
    component: 'billing service',
    key: 'service/unwell',
    title: 'Calls to the billing service fail',
    advice: 'Everything is retried with growing pauses; nothing is lost.',
  },
] as const;

/** A restart of Temporal, or a single failed call, needs no alert. */
const ALERT_AFTER_MS = 15 * SECOND_MS;

/** Raises an alert when Temporal or the billing service has been unhealthy for a while. */
export function externalServicesCheck({
  health,
  alerts,
  now = () => new Date(),
}: Sinks & { readonly now?: () => Date }): Check {
  function check(): void {
    const { components } = health.report();
    for (const { component, key, title, advice } of EXTERNAL_SERVICES) {
      const state = components[component];
      if (state?.isHealthy === true) alerts.resolve(key);
      else if (state !== undefined && now().getTime() - Date.parse(state.since) >= ALERT_AFTER_MS) {
        alerts.raise({ key, title, detail: `${state.detail}. ${advice}` });
      }
    }
  }
  return { component: 'external services', everyMs: 2 * SECOND_MS, run: check };
}

/** Reports it when the publisher's work fails, so that readers are not left with outdated data unnoticed. */
export function reportPublisherFailures(warehouse: PublishedWarehouse, sinks: Sinks): PublishedWarehouse {
  const ingest = watchTask({
    ...{ ...sinks, component: 'ingest' },
    title: 'Received events do not reach the warehouse',
    advice: 'Deliveries are kept meanwhile. The worker’s log names the cause.',
  });
  const publication = watchTask({
    ...{ ...sinks, component: 'publication' },
    title: 'Nothing new is published; readers keep the previous data',
    advice: 'Check the disk and `reports.duckdb` in the data folder; the worker’s log names the cause.',
  });
  return {
    onChange: (listener) => warehouse.onChange(listener),
    ingestArchive: () => ingest.run(() => warehouse.ingestArchive()),
    publish: () => publication.run(() => warehouse.publish()),
  };
}
