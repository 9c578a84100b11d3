/** For all tests of a file: a theatre on the run's server, with queues and one pair of workers of its own. */

import type { Client } from '@temporalio/client';
import { afterAll, beforeAll } from 'vitest';
import type { anInvoiceRoute } from '../support/quick-route.js';
import {
  connectForTests,
  type RunningWorkers,
  startWorkers,
  type TemporalForTests,
} from '../support/temporal.js';
import { createTheatre } from './theatre.js';

export interface House {
  readonly theatre: ReturnType<typeof createTheatre>;
  /** Both from the first test on. */
  readonly temporal: TemporalForTests;
  readonly client: Client;
}

/** Opens before the file's first test and closes after its last. */
export function openHouse(route: ReturnType<typeof anInvoiceRoute>): House {
  const theatre = createTheatre();
  let temporal: TemporalForTests;
  let workers: RunningWorkers;
  beforeAll(async () => {
    temporal = await connectForTests();
    theatre.open(temporal.client, route);
    workers = await startWorkers(temporal, route.queues, theatre);
  });
  afterAll(async () => {
    await workers.stop();
    await temporal.close();
  });
  return {
    theatre,
    get temporal() {
      return temporal;
    },
    get client() {
      return temporal.client;
    },
  };
}
