/** Months of statements, written `YYYY-MM`. */

import { daysOf, RELATIVE_PERIODS } from '../../reports/relative-period.ts';
import type { Days } from './ask-billed.ts';
import { StatementRefusedError } from './errors.ts';

/** @throws StatementRefusedError it is no month */
export function daysOfMonth(period: string): Days {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(period) ?? [];
  if (year === undefined || year < '1900')
    throw new StatementRefusedError(`"${period}" is no month`, { hint: 'write it as 2026-10' });
  const next = new Date(Date.UTC(Number(year), Number(month), 1)).toISOString();
  return { from: `${period}-01`, to: next.slice(0, 10) };
}

/** The month before that of `now`, in UTC. */
export function lastMonth(now: Date): string {
  return daysOf(RELATIVE_PERIODS[2], now).from.slice(0, 7);
}
