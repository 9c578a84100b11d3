/** Where this worker's own reports read: the published file, which over a lake shows rows that lie elsewhere. */

import type { Settings } from '../lib/config/settings.ts';
import { readElsewhere } from '../reports/published-file.ts';
import { warehousePaths } from '../warehouse/data-folder.ts';

/** Whoever asks for the path may then read the file, wherever its rows are. */
export function publishedPath(settings: Pick<Settings, 'dataDir' | 'warehouse' | 'archive'>): string {
  const { warehouse } = settings;
  const { published } = warehousePaths(settings);
  if (warehouse.kind === 'ducklake') {
    readElsewhere(published, async () => {
      const { connectToLake } = await import('../warehouse/lake/lake-reader.ts');
      return connectToLake(published, warehouse);
    });
  }
  return published;
}
