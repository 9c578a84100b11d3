/** What the publisher does again and again, watched: readers must not be left with old figures without a word. */

import type { Alerts } from '../lib/alerts/alerts.ts';
import { type Health, watchTask } from '../lib/health/health.ts';
import type { PublishedWarehouse } from '../warehouse/publisher.ts';

export function watchedWarehouse(
  warehouse: PublishedWarehouse,
  sinks: { readonly health: Health; readonly alerts: Alerts },
): PublishedWarehouse {
  const ingest = watchTask({
    ...{ ...sinks, component: 'ingest' },
    title: 'Received events do not reach the warehouse',
    advice: 'Deliveries are kept meanwhile. The log of the worker names what it stumbled over.',
  });
  const publication = watchTask({
    ...{ ...sinks, component: 'publication' },
    title: 'Nothing new is published; readers keep the previous figures',
    advice: 'Look at the disk and at `reports.duckdb` in the data folder; the log of the worker says more.',
  });
  return {
    onChange: (listener) => warehouse.onChange(listener),
    ingestArchive: () => ingest.run(() => warehouse.ingestArchive()),
    publish: () => publication.run(() => warehouse.publish()),
  };
}
