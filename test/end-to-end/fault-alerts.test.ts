/** Faults of invoices in a running `up`: each is reported by an alert, the dashboard, a metric and a command; `npm run chaos -- watch` plays all. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { INVOICE_FAULTS } from '../chaos/faults/invoice-faults.ts';
import { isReported, openStage, playFault } from '../chaos/faults/play-fault.ts';

const PLAYED = ['redirect', 'malformed-csv', 'other-currency', 'schema-v2'];

let stage: Awaited<ReturnType<typeof openStage>>;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

test('reports each fault of an invoice with its remedy', async () => {
  const faults = INVOICE_FAULTS.filter(({ name }) => PLAYED.includes(name));
  expect(faults).toHaveLength(PLAYED.length);
  // Other tests run beside this one; a minute is for a machine of its own, where `npm run chaos -- watch` holds it to that.
  const reported = await Promise.all(
    faults.map((fault) => playFault(stage, fault, { withinMs: 100_000, isCured: false })),
  );
  expect(reported.filter((each) => !isReported(each)).map(({ fault }) => fault.name)).toEqual([]);
});
