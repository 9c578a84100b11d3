import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { ClaimState } from '../../../finance/disputes/claim.ts';
import { openDisputes } from '../../../finance/disputes/disputes.ts';
import { appendChange } from '../../../finance/disputes/journal.ts';
import { checkClaims } from '../../../finance/disputes/watch-claims.ts';
import { createLogger } from '../../../lib/log/log.ts';
import { testFolder } from '../../support/folders.ts';
import { memoryAlerts } from '../../support/memory-alerts.ts';
import { testSettings } from '../../webhook/a-delivery.ts';
import { aLine } from './a-claim.ts';

let folder: string;
let { alerts, raised, resolved } = memoryAlerts();
beforeEach(async () => {
  folder = testFolder();
  await mkdir(join(folder, 'user'));
  await write('windows: [{ carrier: ups, days: 30 }]');
  await appendChange(folder, () => ({
    ...{ kind: 'opened', at: '2026-03-10T00:00:00Z', by: 'ann', note: '' },
    claims: ['D-1', 'D-2'].map((id, index) => ({ id, ...aLine({ row_number: index + 1 }) })),
  }));
});
const write = (windows: string): Promise<void> =>
  writeFile(join(folder, 'user', 'claim-windows.yaml'), windows);

// Nothing is published here: what waits is known from the claims alone.
const options = (day: string) => ({
  dataDir: folder,
  databasePath: join(folder, 'reports.duckdb'),
  now: () => new Date(`${day}T12:00:00Z`),
});
const look = async (day: string): Promise<void> => {
  ({ alerts, raised, resolved } = memoryAlerts());
  const log = createLogger(testSettings(folder), 'worker', { write: () => {} });
  await checkClaims({ ...options(day), alerts, log });
};
const change = (day: string, state: ClaimState | null, id: string): Promise<unknown> =>
  openDisputes(options(day)).change({ claims: [{ id, version: null }], state, note: 'asked', by: 'ann' });

test("reports open claims from 14 days before the carrier's deadline until they are sent or closed", async () => {
  await look('2026-03-21');
  expect([raised, resolved]).toEqual([[], ['claims-to-send', 'claims-unanswered']]);
  await look('2026-03-22');
  expect(raised).toEqual([
    {
      key: 'claims-to-send',
      title: 'Claims must be sent before the claim window of the carrier closes',
      detail: 'D-1 (ups, 12.5000 USD) by 2026-04-05, D-2 (ups, 12.5000 USD) by 2026-04-05',
    },
  ]);
  await look('2026-04-06');
  expect(raised).toMatchObject([{ key: 'claims-to-send' }]);
  await change('2026-04-06', 'sent', 'D-1');
  await change('2026-04-06', 'closed', 'D-2');
  await look('2026-04-06');
  expect([raised, resolved]).toEqual([[], ['claims-to-send', 'claims-unanswered']]);
});

test('reports sent claims without news for 30 days or the configured time', async () => {
  await change('2026-03-11', 'sent', 'D-1');
  await change('2026-03-12', 'sent', 'D-2');
  await look('2026-04-09');
  expect(raised).toEqual([]);
  await look('2026-04-10');
  expect(raised).toMatchObject([
    { key: 'claims-unanswered', detail: 'D-1 (ups, 12.5000 USD) since 2026-03-11' },
  ]);
  await change('2026-04-10', null, 'D-1');
  await change('2026-04-10', 'rejected', 'D-2');
  await look('2026-05-09');
  expect([raised, resolved]).toEqual([[], ['claims-to-send', 'claims-unanswered']]);
  await write('answer_days: 29\nwarn_days: 0\nwindows: []');
  await look('2026-05-09');
  expect(raised).toMatchObject([{ detail: 'D-1 (ups, 12.5000 USD) since 2026-04-10' }]);
});

test('a file of windows that cannot be meant is an alert that names the line', async () => {
  await write('windows:\n  - { carrier: ups, days: soon }');
  await look('2026-03-22');
  expect(raised).toMatchObject([
    { key: 'claims-to-send', title: 'Claims cannot be checked', detail: expect.stringContaining('line 2') },
  ]);
});
