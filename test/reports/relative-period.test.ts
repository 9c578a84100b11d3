/** What a report that is made again and again means by its days. */

import { expect, test } from 'vitest';
import { daysOf } from '../../reports/relative-period.ts';

test.each([
  ['yesterday', '2026-03-01T00:00:00Z', '2026-02-28', '2026-03-01'],
  ['yesterday', '2026-01-01T23:59:59Z', '2025-12-31', '2026-01-01'],
  ['last-month', '2026-01-15T05:00:00Z', '2025-12-01', '2026-01-01'],
  ['last-month', '2026-03-31T05:00:00Z', '2026-02-01', '2026-03-01'],
  ['month-to-date', '2026-03-31T05:00:00Z', '2026-03-01', '2026-03-31'],
  ['month-to-date', '2026-03-01T05:00:00Z', '2026-02-01', '2026-03-01'],
] as const)('%s on %s is %s to %s', (period, now, from, to) => {
  expect(daysOf(period, new Date(now))).toEqual({ from, to });
});
