/** Periods are calendar days in UTC, `YYYY-MM-DD`, both ends included. */

import { isDay } from '../lib/text.ts';
import { invalidFilter } from './errors.ts';

export interface Period {
  readonly from: string;
  readonly to: string;
}

/** A period of days; a day of null is no bound. */
export interface Days {
  readonly from: string | null;
  readonly to: string | null;
}

export interface PeriodInput {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly period?: string | undefined;
}

/** The periods month-to-date and year-to-date end yesterday. */
export const RELATIVE_PERIODS = [
  ...['yesterday', 'last-week', 'month-to-date', 'last-month', 'last-quarter', 'year-to-date'],
] as const;

export const PERIOD_FORMS = `2026, 2026-10, 2026-Q4, 2026-10-05, 2026-10-01..2026-10-15, or ${RELATIVE_PERIODS.join(', ')}`;

/** @param filter the option that the message names @throws ReportError */
export function parsePeriod(text: string, now = new Date(), filter = 'period'): Period {
  const [, first, last] = /^(\S+?)\.\.(\S+)$/.exec(text) ?? [];
  if (first !== undefined && last !== undefined)
    return checkOrder({ from: checkDay(filter, first), to: checkDay(filter, last) });
  const found = relativePeriod(text, now) ?? calendarPeriod(text);
  if (found !== null) return found;
  const comparisons = filter === 'compare' ? `${COMPARISONS.join(', ')}, ` : '';
  throw invalidFilter(`"${text}" is not a period. Write ${comparisons}${PERIOD_FORMS}.`);
}

export function periodBounds({ from, to, period }: PeriodInput, now?: Date): Days {
  if (period === undefined) {
    const days = {
      from: from === undefined ? null : checkDay('from', from),
      to: to === undefined ? null : checkDay('to', to),
    };
    if (days.from !== null && days.to !== null) checkOrder({ from: days.from, to: days.to });
    return days;
  }
  if ((from ?? to) !== undefined) throw invalidFilter('Give either period, or from and to, not both.');
  return parsePeriod(period, now);
}

/** @throws ReportError no calendar day, `YYYY-MM-DD` */
export function checkDay(filter: string, value: string): string {
  if (isDay(value)) return value;
  throw invalidFilter(`"${value}" is not a date for ${filter}. Write it as YYYY-MM-DD.`);
}

export function weeksBefore(day: string, weeks: number): Period {
  return { from: shiftDay(day, -7 * weeks), to: shiftDay(day, -1) };
}

export function shiftDay(day: string, days: number): string {
  const shifted = new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
  // The day after 9999-12-31 has no four-digit year.
  return shifted.startsWith('+') ? day : shifted;
}

export const COMPARISONS = ['previous', 'last-year'] as const;

/**
 * `previous` has the same length (whole months before whole months), `last-year` the same days. @throws
 * ReportError the period has no first or last day, or `compare` is not a period
 */
export function comparedPeriod(compare: string, input: PeriodInput, now = new Date()): Period {
  const comparison = COMPARISONS.find((name) => name === compare);
  if (comparison === undefined) return parsePeriod(compare, now, 'compare');
  const { from, to } = periodBounds(input, now);
  if (from === null || to === null)
    throw invalidFilter('A comparison needs a period with a first and a last day.');
  const next = shiftDay(to, 1);
  if (comparison === 'last-year')
    return { from: monthsBefore(from, 12), to: shiftDay(monthsBefore(next, 12), -1) };
  const months = monthsBetween(from, next);
  if (months !== null) return { from: monthsBefore(from, months), to: shiftDay(from, -1) };
  const days = (Date.parse(next) - Date.parse(from)) / DAY_MS;
  return { from: shiftDay(from, -days), to: shiftDay(from, -1) };
}

export function periodText({ from, to }: Days): string {
  if (from === null && to === null) return 'all dates';
  if (from === null) return `until ${to}`;
  return to === null ? `from ${from}` : `${from} to ${to}`;
}

export function daysName({ from, to }: Period): string {
  const isMonth = from.endsWith('-01') && shiftDay(to, 1).endsWith('-01') && to.startsWith(from.slice(0, 7));
  if (!isMonth) return `${from} to ${to}`;
  const month = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  return month.format(new Date(`${from}T00:00:00Z`));
}

const DAY_MS = 86_400_000;

function checkOrder({ from, to }: Period): Period {
  if (from <= to) return { from, to };
  throw invalidFilter(`The last day, ${to}, is earlier than the first day, ${from}.`);
}

function relativePeriod(text: string, now: Date): Period | null {
  const name = RELATIVE_PERIODS.find((known) => known === text);
  const today = now.toISOString().slice(0, 10);
  const yesterday = shiftDay(today, -1);
  switch (name) {
    case undefined:
      return null;
    case 'yesterday':
      return { from: yesterday, to: yesterday };
    case 'last-week':
      // Weeks begin on Monday.
      return weeksBefore(shiftDay(today, -((now.getUTCDay() + 6) % 7)), 1);
    case 'last-month':
      return monthsFrom(now, -1, 1);
    case 'last-quarter':
      return monthsFrom(now, -3 - (now.getUTCMonth() % 3), 3);
    // On its first day a month or year has no complete day, so the previous one is meant.
    case 'month-to-date':
      return { from: `${yesterday.slice(0, 7)}-01`, to: yesterday };
    case 'year-to-date':
      return { from: `${yesterday.slice(0, 4)}-01-01`, to: yesterday };
  }
}

function calendarPeriod(text: string): Period | null {
  if (isDay(text)) return { from: text, to: text };
  const [, year, quarter, month] = /^(\d{4})(?:-Q([1-4])|-(0[1-9]|1[0-2]))?$/.exec(text) ?? [];
  if (year === undefined || year < '0001') return null;
  const start = new Date(`${year}-01-01T00:00:00Z`);
  if (quarter !== undefined) return monthsFrom(start, 3 * (Number(quarter) - 1), 3);
  return month === undefined ? monthsFrom(start, 0, 12) : monthsFrom(start, Number(month) - 1, 1);
}

function monthsFrom(start: Date, first: number, count: number): Period {
  const day = (month: number, date: number): string => {
    const time = new Date(start);
    time.setUTCMonth(start.getUTCMonth() + month, date);
    return time.toISOString().slice(0, 10);
  };
  return { from: day(first, 1), to: day(first + count, 0) };
}

/** Returns null when the period begins or ends within a month. @param next the day after the last one */
function monthsBetween(from: string, next: string): number | null {
  if (!from.endsWith('-01') || !next.endsWith('-01')) return null;
  const months = (day: string): number => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
  return months(next) - months(from);
}

/** The same day of an earlier month, or its last day where it has fewer. */
function monthsBefore(day: string, months: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  const last = new Date(Date.UTC(year, month - months, 0)).getUTCDate();
  return new Date(Date.UTC(year, month - 1 - months, Math.min(date, last))).toISOString().slice(0, 10);
}
