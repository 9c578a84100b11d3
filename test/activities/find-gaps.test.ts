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
  test('raises an alert for new gaps and counts all of them by kind', async () => {
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

  test('raises no alert for gaps that the last run reported', async () => {
    const { reported: before } = await finderOver([weekly]).find({ reported: '' });
    const { find, alerts } = finderOver([weekly]);
    await find({ reported: before });
    expect(alerts).toEqual([]);
  });

  test('reports each of very many gaps once, and a further one', async () => {
    const many = Array.from({ length: 5_000 }, (_, nth) => ({
      ...number,
      finding: `number ${nth} is missing`,
    }));
    const { find: findMany } = finderOver(many);
    const first = await findMany({ reported: '' });
    expect(first.findings).toHaveLength(200);
    expect(JSON.stringify(first).length).toBeLessThan(100_000);

    const asBefore = finderOver(many.toReversed());
    const second = await asBefore.find({ reported: first.reported });
    expect(asBefore.alerts).toEqual([]);

    const oneMore = finderOver([...many, weekly]);
    await oneMore.find({ reported: second.reported });
    expect(oneMore.alerts).toMatchObject([{ title: 'An expected invoice is missing' }]);
    expect(JSON.stringify(oneMore.alerts)).toContain(weekly.finding);
  });

  test('resolves the alert once nothing is missing', async () => {
    const { find, alerts } = finderOver([]);
    await find({ reported: '' });
    expect(alerts).toEqual(['resolved gaps']);
  });
});
