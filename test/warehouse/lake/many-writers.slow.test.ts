/** Many processes write one lake at the same time; the long form is `npm run chaos -- lake`. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { runLake } from './lake-chaos.ts';
import { type LakeServer, startLakeServer } from './support.ts';

let server: LakeServer;
beforeAll(async () => {
  server = await startLakeServer();
});
afterAll(() => server?.stop());

test('four processes that load the same invoices load each once, one of them killed, and readers see only whole ones', async () => {
  const verdict = await runLake(server, { invoices: 24, rows: 20, writers: 4, kills: 1 });
  expect(verdict).toMatchObject({
    ...{ refused: 0, halfSeen: 0, lost: 0, wrongRows: 0, drift: 0, equalsFile: true, killed: 1 },
  });
  expect(verdict.loaded).toBeGreaterThanOrEqual(23);
  expect(verdict.looks).toBeGreaterThan(3);
});
