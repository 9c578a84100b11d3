/** Publishes the warehouse for its readers, with everything committed so far in it. */

import type { Publication } from '../warehouse/warehouse.js';
import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';

export function publishSnapshot({ publish }: WarehouseDependencies) {
  return (): Promise<Publication> => translated(() => publish());
}
