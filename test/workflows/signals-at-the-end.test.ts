/** The short form of `npm run chaos -- signals-at-the-end`. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { anInvoiceRoute } from '../support/quick-route.js';
import {
  connectForTests,
  type RunningWorkers,
  startWorkers,
  type TemporalForTests,
} from '../support/temporal.js';
import { sendSignalsAroundTheEnd } from './signals-at-the-end.js';
import { createTheatre } from './theatre.js';

let temporal: TemporalForTests;
let workers: RunningWorkers;
const route = anInvoiceRoute();
const theatre = createTheatre();

beforeAll(async () => {
  temporal = await connectForTests();
  workers = await startWorkers(temporal, route.queues, theatre);
});
afterAll(async () => {
  await workers.stop();
  await temporal.close();
});

test('every signal around the end of a workflow is processed', async () => {
  const figures = await sendSignalsAroundTheEnd(theatre, { client: temporal.client, route, workflows: 30 });
  expect(figures).toMatchObject({ signals: 210, processed: 210 });
});
