/** Publishes the warehouse for its readers, with everything committed so far in it. */

import type { Publication } from '../warehouse/warehouse.js';
import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';

export function publishSnapshot({ warehouse }: WarehouseDependencies) {
  return (): Promise<Publication> =>
    translated(async () => {
      await warehouse.ingestArchive();
      return warehouse.publish();
    });
}
