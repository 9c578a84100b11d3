/** Asks a report of two periods; of one when nothing is compared. */

import { findReport, type ReportDefinition } from '../catalogue.ts';
import { comparedPeriod, periodBounds } from '../period.ts';
import type { ReportFilters } from '../report-filters.ts';
import type { ReportResult } from '../report-result.ts';
import { type ReportRequest, runReport } from '../run-report.ts';
import { compareResults } from './compare-results.ts';
import { pivoted } from './pivot.ts';

export interface Compared {
  readonly filters: ReportFilters;
  readonly parameters: Readonly<Record<string, string>>;
  /** `previous`, `last-year` or a period; undefined: nothing is compared. */
  readonly compare: string | undefined;
}

/**
 * @param more.pivot the column that is put across; undefined: none
 * @throws ReportFilterError besides what `runReport` throws: what is to be compared or put across cannot be
 */
export async function runCompared(
  request: ReportRequest,
  { compare, pivot }: { readonly compare?: string | undefined; readonly pivot?: string | undefined },
): Promise<ReportResult> {
  const { name, filters = {}, parameters = {} } = request;
  const report = await findReport(name);
  const run: Run = (asked) => runReport({ ...request, ...asked });
  const result = await sideBySide(run, report, { filters, parameters, compare });
  return pivot === undefined ? result : pivoted(report, result, pivot).result;
}

type Run = (asked: Pick<Compared, 'filters' | 'parameters'>) => Promise<ReportResult>;

/**
 * @param run answers the report with the filters and parameters that it is given
 * @throws ReportFilterError besides what `run` throws: what is to be compared cannot be
 */
export async function sideBySide(
  run: Run,
  report: ReportDefinition,
  { filters, parameters, compare }: Compared,
): Promise<ReportResult> {
  if (compare === undefined) return run({ filters, parameters });
  const before = comparedPeriod(compare, filters);
  const { period: _, ...others } = filters;
  if (takesTwoPeriods(report)) {
    const { from, to } = periodBounds(filters);
    return run({
      filters: { ...others, from: undefined, to: undefined },
      parameters: {
        ...parameters,
        ...{ first_from: before.from, first_to: before.to, second_from: from ?? '', second_to: to ?? '' },
      },
    });
  }
  const now = await run({ filters, parameters });
  const earlier = await run({ filters: { ...others, ...before }, parameters });
  return compareResults(report, { now, before: earlier, with: before });
}

/** Whether a report is about two periods by itself, as its parameters `first_from` to `second_to` say. */
export function takesTwoPeriods({ parameters }: Pick<ReportDefinition, 'parameters'>): boolean {
  return ['first_from', 'first_to', 'second_from', 'second_to'].every((name) =>
    parameters.some((parameter) => parameter.name === name && parameter.type === 'date'),
  );
}
