/** Periods of a repeated report, relative to the day of each run. */

export const RELATIVE_PERIODS = ['yesterday', 'month-to-date', 'last-month'] as const;
export type RelativePeriod = (typeof RELATIVE_PERIODS)[number];

/**
 * In UTC, as reports count days; `to` is exclusive. On the first of a month its month to date has no day yet, so the
 * month before is meant, whole.
 */
export function daysOf(period: RelativePeriod, now: Date): { readonly from: string; readonly to: string } {
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const day = (of: number, at: number): string => new Date(Date.UTC(year, of, at)).toISOString().slice(0, 10);
  if (period === 'yesterday') return { from: day(month, date - 1), to: day(month, date) };
  if (period === 'month-to-date' && date > 1) return { from: day(month, 1), to: day(month, date) };
  return { from: day(month - 1, 1), to: day(month, 1) };
}
