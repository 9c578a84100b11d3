/** Missing invoices are told once, counted always, and taken back when they came. */

import { describe, expect, test } from 'vitest';
import type { WarehouseDependencies } from '../../activities/dependencies.ts';
import { findGaps, type Gap } from '../../activities/find-gaps.ts';
import type { Alert } from '../../lib/alerts/alert-store.ts';

import { createMetrics } from '../../lib/metrics.ts';

const weekly: Gap = {
  kind: 'period',
  missing: 2,
  finding: 'Acme is invoiced every 7 days, and nothing covers …',
};
const number: Gap = { kind: 'number', missing: 1, finding: '1 number is missing between INV-3 and INV-5' };

function finderOver(gaps: readonly Gap[]) {
  const told: (Alert | string)[] = [];
  const metrics = createMetrics('worker');
  const find = findGaps({
    readGaps: async () => gaps,
    metrics,
    alerts: {
      raise: (alert: Alert) => told.push(alert),
      resolve: (key: string) => told.push(`resolved ${key}`),
    },
  } as unknown as WarehouseDependencies);
  return { find, told, metrics };
}

describe('findGaps', () => {
  test('reports new gaps and counts all by kind', async () => {
    const { find, told, metrics } = finderOver([weekly, number]);
    const { told: before } = await finderOver([number]).find({ told: '' });
    expect(await find({ told: before })).toMatchObject({
      gaps: 2,
      findings: [weekly.finding, number.finding],
    });
    expect(told).toMatchObject([{ key: 'gaps', title: 'An invoice that should have come did not' }]);
    expect(JSON.stringify(told)).toContain(weekly.finding);
    expect(JSON.stringify(told)).not.toContain(number.finding);
    const text = await metrics.text();
    expect(text).toContain('billsync_expected_invoices_missing{kind="period",role="worker"} 2');
    expect(text).toContain('billsync_expected_invoices_missing{kind="number",role="worker"} 1');
    expect(text).toContain('billsync_expected_invoices_missing{kind="overdue",role="worker"} 0');
  });

  test('does not report a gap twice', async () => {
    const { told: before } = await finderOver([weekly]).find({ told: '' });
    const { find, told } = finderOver([weekly]);
    await find({ told: before });
    expect(told).toEqual([]);
  });

  test('reports the end of a gap', async () => {
    const { find, told } = finderOver([]);
    await find({ told: '' });
    expect(told).toEqual(['resolved gaps']);
  });
});
