/** Asks the published report `gaps`: the one answer to what should have come, for people, alert and metric alike. */

import type { Gap } from '../activities/find-gaps.ts';
import { NotPublishedError } from '../reports/errors.ts';
import { runReport } from '../reports/report-session.ts';

/** @param databasePath of the published file; while there is none, nothing is known to be missing */
export async function readGaps(databasePath: string): Promise<readonly Gap[]> {
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
