/** Asks a report of two periods; of one when nothing is compared. */

import { findReport } from '../catalogue.js';
import type { ReportFilters } from '../report-filters.js';
import type { ReportResult } from '../report-result.js';
import { type ReportRequest, runReport } from '../run-report.js';
import { compareResults } from './compare-results.js';
import { comparedWith } from './periods.js';

/**
 * @param compare `previous`, `last-year` or `FROM..TO`; undefined: nothing is compared
 * @throws ReportFilterError besides what `runReport` throws: what is to be compared cannot be
 */
export function runCompared(request: ReportRequest, compare: string | undefined): Promise<ReportResult> {
  const run = (filters: ReportFilters): Promise<ReportResult> => runReport({ ...request, filters });
  return sideBySide(run, request.filters ?? {}, compare);
}

/**
 * @param run answers the same report with the filters it is given
 * @throws ReportFilterError besides what `run` throws: what is to be compared cannot be
 */
export async function sideBySide(
  run: (filters: ReportFilters) => Promise<ReportResult>,
  filters: ReportFilters,
  compare: string | undefined,
): Promise<ReportResult> {
  if (compare === undefined) return run(filters);
  const period = comparedWith(compare, filters);
  const [now, before] = [await run(filters), await run({ ...filters, ...period })];
  return compareResults(await findReport(now.name), { now, before, with: period });
}
