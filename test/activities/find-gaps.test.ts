/** Missing invoices raise an alert once and are always counted; the alert is resolved when none is missing. */

import { describe, expect, test } from 'vitest';
import type { Gap, WarehouseDependencies } from '../../activities/dependencies.ts';
import { createReconcileActivities } from '../../activities/reconcile.ts';
import type { Alert } from '../../lib/alerts/alert-store.ts';

import { createMetrics } from '../../lib/metrics.ts';

const weekly: Gap = {
  kind: 'period',
  missing: 2,
  finding: 'Acme is invoiced every 7 days, and nothing covers …',
};
const number: Gap = { kind: 'number', missing: 1, finding: '1 number is missing between INV-3 and INV-5' };

function finderOver(gaps: readonly Gap[]) {
  const alerts: (Alert | string)[] = [];
  const metrics = createMetrics('worker');
  const { findGaps: find } = createReconcileActivities({
    settings: {},
    readGaps: async () => gaps,
    metrics,
    alerts: {
      raise: (alert: Alert) => alerts.push(alert),
      resolve: (key: string) => alerts.push(`resolved ${key}`),
    },
  } as unknown as WarehouseDependencies);
  return { find, alerts, metrics };
}

describe('findGaps', () => {
  test('reports new gaps and counts all by kind', async () => {
    const { find, alerts, metrics } = finderOver([weekly, number]);
    const { reported: before } = await finderOver([number]).find({ reported: '' });
    expect(await find({ reported: before })).toMatchObject({
      gaps: 2,
      findings: [weekly.finding, number.finding],
    });
    expect(alerts).toMatchObject([{ key: 'gaps', title: 'An expected invoice is missing' }]);
    expect(JSON.stringify(alerts)).toContain(weekly.finding);
    expect(JSON.stringify(alerts)).not.toContain(number.finding);
    const text = await metrics.text();
    expect(text).toContain('billsync_expected_invoices_missing{kind="period",role="worker"} 2');
    expect(text).toContain('billsync_expected_invoices_missing{kind="number",role="worker"} 1');
    expect(text).toContain('billsync_expected_invoices_missing{kind="overdue",role="worker"} 0');
  });

  test('does not report a gap twice', async () => {
    const { reported: before } = await finderOver([weekly]).find({ reported: '' });
    const { find, alerts } = finderOver([weekly]);
    await find({ reported: before });
    expect(alerts).toEqual([]);
  });

  test('reports the end of a gap', async () => {
    const { find, alerts } = finderOver([]);
    await find({ reported: '' });
    expect(alerts).toEqual(['resolved gaps']);
  });
});
