/** What a downloaded file and its sheet are called: the report, and its first and last day as far as it has them. */

import type { ReportResult } from '../report-result.ts';

/** `carriers_2026-10-01_2026-10-31.csv`, `carriers_from-2026-10-01.csv`. @param extension without a dot */
export function fileNameOf(result: Pick<ReportResult, 'name' | 'head'>, extension: string): string {
  return `${[result.name, ...periodOf(result)].join('_')}.${extension}`;
}

/** Excel takes no longer name of a sheet. */
const MOST_CHARACTERS = 31;

/** `carriers 2026-10-01 2026-10-31`; without the days where they have no room. */
export function sheetNameOf(result: Pick<ReportResult, 'name' | 'head'>): string {
  const whole = [result.name, ...periodOf(result)].join(' ');
  return whole.length > MOST_CHARACTERS ? result.name.slice(0, MOST_CHARACTERS) : whole;
}

function periodOf({ head }: Pick<ReportResult, 'head'>): readonly string[] {
  const { from, to } = head.filters;
  if (from !== null && to !== null) return [from, to];
  if (from !== null) return [`from-${from}`];
  return to === null ? [] : [`until-${to}`];
}
