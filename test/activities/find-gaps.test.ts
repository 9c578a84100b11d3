import { describe, expect, test } from 'vitest';
import type { Gap, WarehouseDependencies } from '../../activities/dependencies.ts';
import { createReconcileActivities } from '../../activities/reconcile.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

const weekly: Gap = {
  kind: 'period',
  missing: 2,
  finding: 'Acme is invoiced every 7 days, and nothing covers …',
};
const number: Gap = { kind: 'number', missing: 1, finding: '1 number is missing between INV-3 and INV-5' };

function finderOver(gaps: readonly Gap[]) {
  const { alerts, open, calls } = memoryAlerts();
  const metrics = createMetrics('worker');
  const { findGaps: find } = createReconcileActivities({
    ...{ settings: {}, readGaps: async () => gaps, metrics, alerts },
  } as unknown as WarehouseDependencies);
  return { find, open, calls, metrics };
}

describe('findGaps', () => {
  test('reports new gaps and counts all by kind', async () => {
    const { find, open, metrics } = finderOver([weekly, number]);
    const { reported: before } = await finderOver([number]).find({ reported: '' });
    expect(await find({ reported: before })).toMatchObject({
      gaps: 2,
      findings: [weekly.finding, number.finding],
    });
    expect(open.get('gaps')?.title).toBe('An expected invoice is missing');
    expect(open.get('gaps')?.detail).toContain(weekly.finding);
    expect(open.get('gaps')?.detail).not.toContain(number.finding);
    const text = await metrics.text();
    expect(text).toContain('billsync_expected_invoices_missing{kind="period",role="worker"} 2');
    expect(text).toContain('billsync_expected_invoices_missing{kind="number",role="worker"} 1');
    expect(text).toContain('billsync_expected_invoices_missing{kind="overdue",role="worker"} 0');
  });

  test('does not report a gap twice', async () => {
    const { reported: before } = await finderOver([weekly]).find({ reported: '' });
    const { find, calls } = finderOver([weekly]);
    await find({ reported: before });
    expect(calls).toEqual([]);
  });

  test('reports the end of a gap', async () => {
    const { find, calls } = finderOver([]);
    await find({ reported: '' });
    expect(calls).toEqual(['resolved gaps']);
  });
});
