import { describe, expect, test } from 'vitest';
import { createHealth, watchTask } from '../../lib/health/health.ts';
import { reportPublisherFailures } from '../../worker/checks.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

function aWatch() {
  const health = createHealth();
  const { alerts, open } = memoryAlerts();
  const isHealthy = (name = 'ingest') => health.report().components[name]?.isHealthy;
  return { health, alerts, open, isHealthy };
}

const fails = async (): Promise<never> => {
  throw new Error('no such table\nat a place');
};

describe('watchTask', () => {
  test('is unhealthy after the second failure in a row, and healthy after a success', async () => {
    const { health, alerts, open, isHealthy } = aWatch();
    const texts = { component: 'ingest', title: 'Nothing is ingested', advice: 'Read the log.' } as const;
    const run = watchTask({ ...texts, health, alerts });
    await expect(run(fails)).rejects.toThrow(/no such table/);
    expect(isHealthy()).toBeUndefined();
    await expect(run(fails)).rejects.toThrow();
    expect(isHealthy()).toBe(false);
    expect(open.get('ingest')?.detail).toBe('It failed 2 times in a row: no such table. Read the log.');
    expect(await run(async () => 7)).toBe(7);
    expect(isHealthy()).toBe(true);
    expect(open.size).toBe(0);
  });
});

describe('reportPublisherFailures', () => {
  test('distinguishes ingest and publication', async () => {
    const { health, alerts, open, isHealthy } = aWatch();
    const broken = { ingestArchive: async () => [] as never, publish: fails, onChange: () => {} };
    const warehouse = reportPublisherFailures(broken as never, { health, alerts });
    await warehouse.ingestArchive();
    for (let time = 0; time < 2; time += 1) await warehouse.publish().catch(() => undefined);
    expect([isHealthy('ingest'), isHealthy('publication')]).toEqual([true, false]);
    expect(open.get('publication')?.detail).toMatch(/^It failed 2 times/);
  });
});
