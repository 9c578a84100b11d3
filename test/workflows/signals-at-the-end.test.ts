/** The short form of `npm run chaos -- signals-at-the-end`. */

import { expect, test } from 'vitest';
import { anInvoiceRoute } from '../support/temporal/quick-route.js';
import { sendSignalsAroundTheEnd } from './signals-at-the-end.js';
import { openWorkflowFixture } from './workflow-fixture.js';

const route = anInvoiceRoute();
const fixture = openWorkflowFixture(route);

test('every signal around the end of a workflow is processed', async () => {
  const { scenes, client } = fixture;
  const figures = await sendSignalsAroundTheEnd(scenes, { client, route, workflows: 30 });
  expect(figures).toMatchObject({ signals: 210, processed: 210 });
});
