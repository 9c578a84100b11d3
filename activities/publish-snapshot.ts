/** Publishes the warehouse for its readers, with everything committed so far in it. */

import type { Publication } from '../warehouse/warehouse.js';
import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';

export function publishSnapshot({ warehouse, metrics }: WarehouseDependencies) {
  return (): Promise<Publication> =>
    translated(async () => {
      await warehouse.ingestArchive();
      const publication = await warehouse.publish();
      // As the publisher does for its own: readers see this one now.
      metrics.gauge('publication_sequence').set(publication.sequence);
      metrics.gauge('publication_timestamp_seconds').set(Date.parse(publication.publishedAt) / 1_000);
      return publication;
    });
}
