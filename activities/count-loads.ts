/** Counts what became of the files that the warehouse was given. */

import type { Metrics } from '../lib/metrics.ts';
import type { LoadOutcome } from '../warehouse/warehouse.ts';

/** @returns runs a load, times it and counts its outcome; a load that throws is tried again and counts as failed */
export function countLoads(metrics: Metrics) {
  const loads = metrics.counter('loads_total');
  const seconds = metrics.histogram('load_seconds');
  const rows = metrics.counter('loaded_rows_total');
  const last = metrics.gauge('last_load_timestamp_seconds');
  return async (load: () => Promise<LoadOutcome>): Promise<LoadOutcome> => {
    const stop = seconds.startTimer();
    let outcome: LoadOutcome['outcome'] | 'failed' = 'failed';
    try {
      const loaded = await load();
      outcome = loaded.outcome;
      if (loaded.outcome === 'loaded') {
        rows.inc(loaded.shipments);
        last.setToCurrentTime();
      }
      return loaded;
    } finally {
      stop();
      loads.inc({ outcome });
    }
  };
}
