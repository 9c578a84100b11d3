/** Asks the published report `gaps`: the one answer to what should have come, for people, alert and metric alike. */

import type { Gap } from '../activities/find-gaps.js';
import type { Settings } from '../config/settings.js';
import { NotPublishedError } from '../reports/errors.js';
import { readElsewhere } from '../reports/published-file.js';
import { runReport } from '../reports/run-report.js';
import { warehousePaths } from '../warehouse/paths.js';

/** While nothing is published, nothing is known to be missing. */
export async function readGaps(
  settings: Pick<Settings, 'dataDir' | 'warehouse' | 'archive'>,
): Promise<readonly Gap[]> {
  const { warehouse } = settings;
  const { published: databasePath } = warehousePaths(settings);
  if (warehouse.kind === 'ducklake') {
    readElsewhere(databasePath, async () => {
      const { connectToLake } = await import('../warehouse/lake/lake-reader.js');
      return connectToLake(databasePath, warehouse);
    });
  }
  try {
    const { rows } = await runReport({ databasePath, name: 'gaps', filters: { level: 'all' } });
    return rows.map(({ kind, missing, finding }) => ({
      kind: kind as Gap['kind'],
      missing: Number(missing),
      finding: String(finding),
    }));
  } catch (error) {
    if (error instanceof NotPublishedError) return [];
    throw error;
  }
}
