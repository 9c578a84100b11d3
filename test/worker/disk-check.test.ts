/** A full disk is said before it hurts; `/proc` is a file system that has no room. */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Alert } from '../../lib/alerts/alert-store.ts';
import { createHealth } from '../../lib/health/health.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { requireDiskSpace } from '../../warehouse/data-folder.ts';
import { diskCheck } from '../../worker/process-checks.ts';

async function watched(dataDir: string) {
  const said: string[] = [];
  const health = createHealth();
  const alerts = {
    raise: ({ key }: Alert) => void said.push(`raised ${key}`),
    resolve: (key: string) => void said.push(`resolved ${key}`),
    close: async () => {},
  };
  await diskCheck({ dataDir, health, alerts, metrics: createMetrics('worker') }).run(
    new AbortController().signal,
  );
  return { component: health.report().components.disk, said };
}

test.runIf(process.platform === 'linux')('reports a full disk in health and by an alert', async () => {
  const { component, said } = await watched('/proc');
  expect(component).toMatchObject({ isHealthy: false, detail: expect.stringMatching(/^0 MiB are free/) });
  expect(said).toEqual(['raised disk/full']);
});

test('writes nothing to the warehouse without disk space', async () => {
  await requireDiskSpace(join(tmpdir(), 'warehouse.duckdb'), 1);
  await expect(requireDiskSpace(join(tmpdir(), 'warehouse.duckdb'), 2 ** 60)).rejects.toMatchObject({
    code: 'no-room',
  });
});
