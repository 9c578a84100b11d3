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

/** The last week that is over, Monday to Sunday in UTC; `to` is exclusive. */
export function lastFullWeek(now: Date): { readonly from: string; readonly to: string } {
  const daysSinceMonday = (now.getUTCDay() + 6) % 7;
  const monday = new Date(now.getTime() - daysSinceMonday * DAY_MS).toISOString().slice(0, 10);
  return weeksBefore(monday, 1);
}

/** So many weeks that end where `day` begins; `to` is exclusive. */
export function weeksBefore(day: string, weeks: number): { readonly from: string; readonly to: string } {
  const end = Date.parse(`${day}T00:00:00Z`);
  return { from: new Date(end - weeks * 7 * DAY_MS).toISOString().slice(0, 10), to: day };
}

/** The day before, `2026-02-28` for `2026-03-01`; what is no day stays as it is, for the check that refuses it by name. */
export function dayBefore(day: string): string {
  return shifted(day, -1);
}

/** The day after; what is no day stays as it is. */
export function dayAfter(day: string): string {
  return shifted(day, 1);
}

/** So many days later; what is no day stays as it is. */
export function shifted(day: string, days: number): string {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // `Date` takes 30 February for 2 March.
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== day) return day;
  const moved = new Date(time + days * DAY_MS).toISOString().slice(0, 10);
  // The year 9999 has a last day.
  return moved.startsWith('+') ? day : moved;
}

const DAY_MS = 86_400_000;
