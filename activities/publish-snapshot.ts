/** Publishes the warehouse for its readers, with everything committed so far in it. */

import { publicationGauges } from '../warehouse/publisher.ts';
import type { Publication } from '../warehouse/warehouse.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export function publishSnapshot({ warehouse, metrics }: WarehouseDependencies) {
  const tell = publicationGauges(metrics);
  return (): Promise<Publication> =>
    translated(async () => {
      await warehouse.ingestArchive();
      const publication = await warehouse.publish();
      tell(publication);
      return publication;
    });
}
