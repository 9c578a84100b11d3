/** Of a report whose parameter `by` chooses its columns: which of them are there, and what can be drawn of those. */

import type { BoundParameters } from './bind-parameters.ts';
import type { ChartSpec, ReportDefinition } from './catalogue.ts';
import type { ReportColumn } from './report-result.ts';

/** The columns that were asked for, and those that are always there. */
export function shownColumns(
  columns: readonly ReportColumn[],
  { shownBy }: Pick<ReportDefinition, 'shownBy'>,
  { shown }: Pick<BoundParameters, 'shown'>,
): readonly ReportColumn[] {
  const words = shown.by?.split('+') ?? [];
  return columns.filter(({ name }) => shownBy[name] === undefined || words.includes(shownBy[name]));
}

/** All charts of other reports; of such a one the first that its columns suffice for, one value in each place. */
export function drawableCharts(
  { charts, shownBy }: Pick<ReportDefinition, 'charts' | 'shownBy'>,
  columns: readonly ReportColumn[],
): readonly ChartSpec[] {
  if (Object.keys(shownBy).length === 0) return charts;
  const names = new Set(columns.map(({ name }) => name));
  const places = ({ roles: { combine: _, ...places } }: ChartSpec): readonly string[] =>
    Object.values(places).flatMap((role) => role.split('+'));
  const chosen = Object.keys(shownBy).filter((name) => names.has(name));
  return charts
    .filter((chart) => places(chart).every((name) => names.has(name)))
    .filter(
      (chart) => chart.roles.combine !== undefined || chosen.every((name) => places(chart).includes(name)),
    )
    .slice(0, 1);
}
