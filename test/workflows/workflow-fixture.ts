/** For all tests of a file: the scenes on the run's server, with queues and one pair of workers of its own. */

import { afterAll, beforeAll } from 'vitest';
import type { anInvoiceRoute } from '../support/quick-route.ts';
import {
  connectForTests,
  type RunningWorkers,
  startWorkers,
  type TemporalForTests,
} from '../support/temporal.ts';
import { createScenes } from './invoice-scenes.ts';

export function openWorkflowFixture(route: ReturnType<typeof anInvoiceRoute>) {
  const scenes = createScenes();
  let temporal: TemporalForTests;
  let workers: RunningWorkers;
  beforeAll(async () => {
    temporal = await connectForTests();
    scenes.open(temporal.client, route);
    workers = await startWorkers(temporal, route.queues, scenes);
  });
  afterAll(async () => {
    await workers.stop();
    await temporal.close();
  });
  return {
    scenes,
    get temporal() {
      return temporal;
    },
    get client() {
      return temporal.client;
    },
  };
}
