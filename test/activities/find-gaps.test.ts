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
  test('tells of what is new and counts all of it by kind', async () => {
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

  test('does not tell again what the last run told', async () => {
    const { told: before } = await finderOver([weekly]).find({ told: '' });
    const { find, told } = finderOver([weekly]);
    await find({ told: before });
    expect(told).toEqual([]);
  });

  test('tells each of very many once, and the one that comes to them', async () => {
    const many = Array.from({ length: 5_000 }, (_, nth) => ({
      ...number,
      finding: `number ${nth} is missing`,
    }));
    const { find: findMany } = finderOver(many);
    const first = await findMany({ told: '' });
    expect(first.findings).toHaveLength(200);
    expect(JSON.stringify(first).length).toBeLessThan(100_000);

    const asBefore = finderOver(many.toReversed());
    const second = await asBefore.find({ told: first.told });
    expect(asBefore.told).toEqual([]);

    const oneMore = finderOver([...many, weekly]);
    await oneMore.find({ told: second.told });
    expect(oneMore.told).toMatchObject([{ title: 'An invoice that should have come did not' }]);
    expect(JSON.stringify(oneMore.told)).toContain(weekly.finding);
  });

  test('says that it is over once nothing is missing', async () => {
    const { find, told } = finderOver([]);
    await find({ told: '' });
    expect(told).toEqual(['resolved gaps']);
  });
});
