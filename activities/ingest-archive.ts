/** Takes in what the archive has and the ledger has not: test events, duplicates, what was refused. */

import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export function ingestArchive({ warehouse }: WarehouseDependencies) {
  return (): Promise<{ readonly events: number }> => translated(() => warehouse.ingestArchive());
}
