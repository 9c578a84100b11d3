/** When a loaded invoice is asked for again: daily for a week, then weekly, until its days are over. */

import { describe, expect, test } from 'vitest';
import { isRecheckDue } from '../../activities/find-overdue.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const loadedAt = Date.parse('2026-03-10T12:30:00Z');
const invoice = { stateSince: '2026-03-10T12:30:00Z', header: { invoiceDate: '2026-03-09T00:00:00Z' } };

/** The days after loading on which hourly runs found the invoice due. */
function daysAsked(days: number, everyMs = HOUR): number[] {
  const asked: number[] = [];
  for (let until = loadedAt; until < loadedAt + 80 * DAY; until += everyMs) {
    if (isRecheckDue(invoice, { since: until - everyMs, until }, days)) {
      asked.push(Math.floor((until - loadedAt) / DAY));
    }
  }
  return asked;
}

describe('isRecheckDue', () => {
  test('asks daily for a week, then weekly, until 60 days after the invoice date', () => {
    expect(daysAsked(60)).toEqual([1, 2, 3, 4, 5, 6, 7, 14, 21, 28, 35, 42, 49, 56]);
  });

  test('asks as often when the runs are further apart', () => {
    expect(daysAsked(60, 6 * HOUR)).toEqual([1, 2, 3, 4, 5, 6, 7, 14, 21, 28, 35, 42, 49, 56]);
  });

  test('never asks when nobody wants it', () => {
    expect(daysAsked(0)).toEqual([]);
  });
});
