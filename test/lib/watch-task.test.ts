/** Work that is done again and again says when it fails or hangs, and when that is over. */

import { describe, expect, test } from 'vitest';
import { createHealth, watchTask } from '../../lib/health/health.ts';
import { reportPublisherFailures } from '../../worker/process-checks.ts';

function aWatch(stalledAfterMs?: number) {
  const said: string[] = [];
  const health = createHealth();
  const alerts = {
    raise: ({ key, detail = '' }: { key: string; detail?: string }) =>
      void said.push(`raised ${key}: ${detail}`),
    resolve: (key: string) => void said.push(`resolved ${key}`),
    close: async () => {},
  };
  const options = {
    component: 'ingest' as const,
    title: 'Nothing is taken in',
    advice: 'Look.',
    health,
    alerts,
  };
  const watch = watchTask({
    ...options,
    ...(stalledAfterMs === undefined ? {} : { stalledAfterMs }),
  });
  const isHealthy = (name = 'ingest') => health.report().components[name]?.isHealthy;
  return { watch, health, alerts, said, isHealthy };
}

const fails = async (): Promise<never> => {
  throw new Error('no such table\nat a place');
};

describe('watchTask', () => {
  test('is unhealthy after the second failure in a row, and healthy after a success', async () => {
    const { watch, said, isHealthy } = aWatch();
    await expect(watch.run(fails)).rejects.toThrow(/no such table/);
    expect(isHealthy()).toBeUndefined();
    await expect(watch.run(fails)).rejects.toThrow();
    expect(isHealthy()).toBe(false);
    expect(said).toEqual(['raised ingest: It failed 2 times in a row: no such table. Look.']);
    expect(await watch.run(async () => 7)).toBe(7);
    expect(isHealthy()).toBe(true);
    expect(said.at(-1)).toBe('resolved ingest');
  });
});

describe('reportPublisherFailures', () => {
  test('distinguishes ingest and publication', async () => {
    const { health, alerts, said, isHealthy } = aWatch();
    const broken = { ingestArchive: async () => [] as never, publish: fails, onChange: () => {} };
    const warehouse = reportPublisherFailures(broken as never, { health, alerts });
    await warehouse.ingestArchive();
    for (let time = 0; time < 2; time += 1) await warehouse.publish().catch(() => undefined);
    expect([isHealthy('ingest'), isHealthy('publication')]).toEqual([true, false]);
    expect(said.at(-1)).toMatch(/^raised publication: It failed 2 times/);
  });
});
