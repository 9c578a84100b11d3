/** Starts what a whole test run shares: one Temporal dev server and one workflow bundle. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import { startEmbeddedTemporal } from '../../../lib/temporal/embedded.ts';
import { workflowBundle } from '../../../worker/workflow-bundle.ts';
import '../temporal.ts';

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'billsync-temporal-'));
  const [server, { codePath }] = await Promise.all([
    startEmbeddedTemporal({ dataDir, log: pino({ level: 'error' }) }),
    workflowBundle(),
  ]);
  project.provide('temporalAddress', server.address);
  project.provide('workflowBundlePath', codePath);
  return async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}
