/** The short form of `npm run chaos -- signals-at-the-end`. */

import { expect, test } from 'vitest';
import { anInvoiceRoute } from '../support/quick-route.js';
import { openHouse } from './house.js';
import { sendSignalsAroundTheEnd } from './signals-at-the-end.js';

const route = anInvoiceRoute();
const house = openHouse(route);

test('every signal around the end of a workflow is processed', async () => {
  const { theatre, client } = house;
  const figures = await sendSignalsAroundTheEnd(theatre, { client, route, workflows: 30 });
  expect(figures).toMatchObject({ signals: 210, processed: 210 });
});
