/** Days of the calendar as text; what is no day stays as it is, for the check that refuses it by name. */

import { type Period, parsePeriod, shiftDay } from '../reports/period.ts';

export interface Preset extends Period {
  readonly label: string;
}

/** Periods that people ask for again and again, in UTC as reports count days. */
export function presetsOf(now: Date): readonly Preset[] {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const quarter = month - (month % 3);
  const day = (ofMonth: number, date: number): string =>
    new Date(Date.UTC(year, ofMonth, date)).toISOString().slice(0, 10);
  const months = (label: string, first: number, count: number): Preset => ({
    ...{ label, from: day(first, 1), to: day(first + count, 0) },
  });
  const today = day(month, now.getUTCDate());
  return [
    { label: 'Last full week', ...parsePeriod('last-week', now) },
    months('This month', month, 1),
    months('Last month', month - 1, 1),
    months('This quarter', quarter, 3),
    months('Last quarter', quarter - 3, 3),
    { label: 'Last 90 days', from: shiftDay(today, -90), to: shiftDay(today, -1) },
    { label: 'Year to date', from: day(0, 1), to: today },
    months('This year', 0, 12),
    months('Last 12 months', month - 12, 12),
  ];
}
