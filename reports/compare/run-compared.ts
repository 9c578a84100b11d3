/** Asks a report of two periods; of one when nothing is compared. */

import { findReport } from '../catalogue.js';
import type { ReportResult } from '../report-result.js';
import { type ReportRequest, runReport } from '../run-report.js';
import { compareResults } from './compare-results.js';
import { comparedWith } from './periods.js';

/**
 * @param compare `previous`, `last-year` or `FROM..TO`; undefined: nothing is compared
 * @throws ReportFilterError besides what `runReport` throws: what is to be compared cannot be
 */
export async function runCompared(
  request: ReportRequest,
  compare: string | undefined,
): Promise<ReportResult> {
  if (compare === undefined) return runReport(request);
  const period = comparedWith(compare, request.filters ?? {});
  const now = await runReport(request);
  const before = await runReport({ ...request, filters: { ...request.filters, ...period } });
  return compareResults(await findReport(now.name), { now, before, with: period });
}
