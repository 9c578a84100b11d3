/** Says in health and by an alert when the disk of the data folder is nearly full, and when that is over. */

import { statfs } from 'node:fs/promises';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Check, Health } from '../lib/health/health.ts';
import type { Metrics } from '../lib/metrics.ts';

export interface DiskCheckOptions {
  readonly dataDir: string;
  readonly health: Health;
  readonly alerts: Alerts;
  readonly metrics: Metrics;
}

/** Downloads stop here, loads and publications at half of it; deliveries are kept to the last byte. */
const LEAST_FREE_BYTES = 64 * 1024 ** 2;
const MIB = 1024 ** 2;

const EVERY_MS = 2_000;

export function diskCheck(options: DiskCheckOptions): Check {
  const { dataDir, health, alerts, metrics } = options;
  const freeBytes = metrics.gauge('disk_free_bytes');
  const sizeBytes = metrics.gauge('disk_size_bytes');
  async function look(): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(dataDir);
    const free = bavail * bsize;
    freeBytes.set(free);
    sizeBytes.set(blocks * bsize);
    const isHealthy = free >= LEAST_FREE_BYTES;
    if (isHealthy) {
      health.set('disk', { isHealthy });
      alerts.resolve('disk/full');
      return;
    }
    const detail = `${Math.floor(free / MIB)} MiB are free at ${dataDir}; below ${LEAST_FREE_BYTES / MIB} MiB nothing new is downloaded.`;
    health.set('disk', { isHealthy, detail });
    alerts.raise({ key: 'disk/full', title: 'The disk is nearly full', detail });
  }
  return {
    component: 'disk',
    everyMs: EVERY_MS,
    // A folder that cannot be asked for its room, as one that was unmounted, has none.
    run: () =>
      look().catch(({ message }: Error) => health.set('disk', { isHealthy: false, detail: message })),
  };
}
