/** The period that another is compared with. */

import { ReportFilterError } from '../errors.ts';
import { checkDate } from '../report-filters.ts';

/** Days, the end exclusive. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

export const COMPARISONS = ['previous', 'last-year'] as const;

const HOW = `take ${COMPARISONS.join(', ')}, or a period as 2026-01-01..2026-02-01, its end exclusive`;

/**
 * The one before of the same length, whole months if it is of whole months; the same a year earlier; or one that is named.
 *
 * @throws ReportFilterError when no period is given to compare, or the other cannot be meant
 */
export function comparedWith(
  compare: string,
  period: { readonly from?: string | undefined; readonly to?: string | undefined },
): Period {
  const named = /^(\S+)\.\.(\S+)$/.exec(compare);
  if (named?.[1] !== undefined && named[2] !== undefined) {
    const other = { from: checkDate('compare', named[1]), to: checkDate('compare', named[2]) };
    if (other.from < other.to) return other;
    throw new ReportFilterError(
      'compare',
      `The end ${other.to} is exclusive and must come after ${other.from}.`,
    );
  }
  const found = COMPARISONS.find((word) => word === compare);
  if (found === undefined)
    throw new ReportFilterError('compare', `"${compare}" is no value for compare: ${HOW}.`);
  if (period.from === undefined || period.to === undefined)
    throw new ReportFilterError('compare', 'To compare a period, say which: its first and its last day.');
  const [from, to] = [checkDate('from', period.from), checkDate('to', period.to)];
  if (found === 'last-year') return { from: monthsBefore(from, 12), to: monthsBefore(to, 12) };
  const months = monthsBetween(from, to);
  if (months !== null) return { from: monthsBefore(from, months), to: from };
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  return { from: new Date(Date.parse(from) - days * DAY_MS).toISOString().slice(0, 10), to: from };
}

const DAY_MS = 86_400_000;

/** How many whole months; null when it begins or ends within one. */
function monthsBetween(from: string, to: string): number | null {
  if (!from.endsWith('-01') || !to.endsWith('-01')) return null;
  const months = (day: string): number => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
  return months(to) - months(from);
}

/** The same day of an earlier month, its last one where it has fewer days. */
function monthsBefore(day: string, months: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  const last = new Date(Date.UTC(year, month - months, 0)).getUTCDate();
  return new Date(Date.UTC(year, month - 1 - months, Math.min(date, last))).toISOString().slice(0, 10);
}
