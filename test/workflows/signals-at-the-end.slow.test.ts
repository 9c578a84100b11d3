/** Signals that arrive while a workflow ends, on a real server. */

import { expect, test } from 'vitest';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { sendSignalsAroundTheEnd } from './signals-at-the-end.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const route = anInvoiceRoute();
const fixture = openWorkflowFixture(route);

test('every signal around the end of a workflow is processed', async () => {
  const { scenes, client } = fixture;
  const counts = await sendSignalsAroundTheEnd(scenes, { client, route, workflows: 30 });
  expect(counts).toMatchObject({ signals: 210, processed: 210 });
});
