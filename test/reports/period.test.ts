import { describe, expect, test } from 'vitest';
import { ReportError } from '../../reports/errors.ts';
import { comparedPeriod, parsePeriod, periodBounds, shiftDay } from '../../reports/period.ts';

test.each([
  ['2026', '2026-01-01', '2026-12-31'],
  ['2026-02', '2026-02-01', '2026-02-28'],
  ['2024-02', '2024-02-01', '2024-02-29'],
  ['2026-Q4', '2026-10-01', '2026-12-31'],
  ['2026-10-05', '2026-10-05', '2026-10-05'],
  ['2026-10-05..2026-10-05', '2026-10-05', '2026-10-05'],
  ['2026-10-01..2027-01-15', '2026-10-01', '2027-01-15'],
  ['9999-12', '9999-12-01', '9999-12-31'],
])('%s is %s to %s', (text, from, to) => {
  expect(parsePeriod(text)).toEqual({ from, to });
});

test.each([
  ['yesterday', '2026-03-01T00:00:00Z', '2026-02-28', '2026-02-28'],
  ['yesterday', '2026-01-01T23:59:59Z', '2025-12-31', '2025-12-31'],
  ['last-week', '2026-01-31T23:00:00Z', '2026-01-19', '2026-01-25'],
  ['last-week', '2026-02-02T00:00:00Z', '2026-01-26', '2026-02-01'],
  ['last-month', '2026-01-15T05:00:00Z', '2025-12-01', '2025-12-31'],
  ['last-month', '2026-03-31T05:00:00Z', '2026-02-01', '2026-02-28'],
  ['last-quarter', '2026-02-28T05:00:00Z', '2025-10-01', '2025-12-31'],
  ['last-quarter', '2026-12-31T05:00:00Z', '2026-07-01', '2026-09-30'],
  ['month-to-date', '2026-03-31T05:00:00Z', '2026-03-01', '2026-03-30'],
  ['month-to-date', '2026-03-01T05:00:00Z', '2026-02-01', '2026-02-28'],
  ['year-to-date', '2026-03-31T05:00:00Z', '2026-01-01', '2026-03-30'],
  ['year-to-date', '2026-01-01T05:00:00Z', '2025-01-01', '2025-12-31'],
])('%s on %s is %s to %s', (text, now, from, to) => {
  expect(parsePeriod(text, new Date(now))).toEqual({ from, to });
});

test.each(['', 'october', '2026-13', '2026-Q5', '0000', '2026-02-30', '2026-01..2026-02', 'last-year'])(
  'refuses %j as a period',
  (text) => {
    expect(() => parsePeriod(text)).toThrow(ReportError);
  },
);

test('names the earlier one of two reversed days', () => {
  const sentence = 'The last day, 2026-10-01, is earlier than the first day, 2026-10-31.';
  expect(() => periodBounds({ from: '2026-10-31', to: '2026-10-01' })).toThrow(sentence);
  expect(() => parsePeriod('2026-10-31..2026-10-01')).toThrow(sentence);
  expect(periodBounds({ from: '2026-10-31', to: '2026-10-31' })).toEqual({
    from: '2026-10-31',
    to: '2026-10-31',
  });
});

test('refuses a period together with one of its days', () => {
  expect(() => periodBounds({ period: '2026-10', to: '2026-10-31' })).toThrow('not both');
});

test('shifts days over months and leap days', () => {
  expect(['2026-03-01', '2024-03-01'].map((day) => shiftDay(day, -1))).toEqual(['2026-02-28', '2024-02-29']);
  expect(shiftDay('9999-12-31', 1)).toBe('9999-12-31');
});

describe('a comparison', () => {
  test.each([
    ['previous', '2026-10-01', '2026-10-31', '2026-09-01', '2026-09-30'],
    ['previous', '2026-01-01', '2026-03-31', '2025-10-01', '2025-12-31'],
    ['previous', '2026-03-10', '2026-03-16', '2026-03-03', '2026-03-09'],
    ['last-year', '2026-10-01', '2026-10-31', '2025-10-01', '2025-10-31'],
    ['last-year', '2024-02-29', '2024-02-29', '2023-02-28', '2023-02-28'],
    ['2026-01-05..2026-01-09', '2026-10-01', '2026-10-31', '2026-01-05', '2026-01-09'],
    ['2025-Q1', '2026-10-01', '2026-10-31', '2025-01-01', '2025-03-31'],
  ])('%s of %s to %s is %s to %s', (compare, from, to, otherFrom, otherTo) => {
    expect(comparedPeriod(compare, { from, to })).toEqual({ from: otherFrom, to: otherTo });
    expect(comparedPeriod(compare, { period: `${from}..${to}` })).toEqual({ from: otherFrom, to: otherTo });
  });

  test('needs a period with both days, and another period', () => {
    for (const compare of ['before', '2026-02-01..2026-01-01', '2026-02-30..2026-03-01'])
      expect(() => comparedPeriod(compare, { period: '2026-10' })).toThrow(ReportError);
    expect(() => comparedPeriod('before', { period: '2026-10' })).toThrow('Write previous, last-year, 2026');
    expect(() => comparedPeriod('previous', { from: '2026-10-01' })).toThrow('a first and a last day');
  });
});
