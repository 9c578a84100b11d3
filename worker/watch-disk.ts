/** Says in health and by an alert when the disk of the data folder is nearly full, and when that is over. */

import { statfs } from 'node:fs/promises';
import type { Alerts } from '../ops/alerts.ts';
import type { Health } from '../ops/health.ts';
import type { Metrics } from '../ops/metrics.ts';

export interface WatchDiskOptions {
  readonly dataDir: string;
  readonly health: Health;
  readonly alerts: Alerts;
  readonly metrics: Metrics;
  readonly everyMs?: number;
}

/** Downloads stop here, loads and publications at half of it; deliveries are kept to the last byte. */
const LEAST_FREE_BYTES = 64 * 1024 ** 2;
const MIB = 1024 ** 2;

export function watchDisk(options: WatchDiskOptions): { close(): void } {
  const { dataDir, health, alerts, metrics, everyMs = 2_000 } = options;
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
  // A folder that cannot be asked for its room, as one that was unmounted, has none.
  const ask = () =>
    look().catch(({ message }: Error) => health.set('disk', { isHealthy: false, detail: message }));
  const asking = setInterval(ask, everyMs).unref();
  void ask();
  return { close: () => clearInterval(asking) };
}
