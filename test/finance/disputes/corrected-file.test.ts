import { afterAll, expect, test } from 'vitest';
import { findingKey } from '../../../finance/disputes/claim.ts';
import { openDisputes } from '../../../finance/disputes/disputes.ts';
import { anInvoice, aShipment, reportsFixture } from '../../support/reports-fixture.ts';

const billedTwice = (...numbers: readonly string[]) =>
  anInvoice(
    numbers.flatMap((tracking) => [aShipment({ tracking }), aShipment({ tracking })]),
    { id: '00000000-0000-4000-8000-aaaaaaaaaaaa', number: 'INV-1' },
  );
const first = await reportsFixture([billedTwice('A', 'B')], { publishedAt: '2026-04-02T00:00:00Z' });
const corrected = await reportsFixture([billedTwice('C', 'D')], { publishedAt: '2026-04-03T00:00:00Z' });
afterAll(async () => {
  await first.remove();
  await corrected.remove();
});

test('a corrected file with another package in a row has new findings there, whatever was dismissed or claimed before', async () => {
  const now = () => new Date('2026-04-03T12:00:00Z');
  const over = (databasePath: string) => openDisputes({ dataDir: first.folder, databasePath, now });
  const stateOf = async (databasePath: string) =>
    (await over(databasePath).atRisk({})).lines.map(({ tracking_number, state }) => [tracking_number, state]);
  const { lines } = await over(first.path).atRisk({});
  expect(lines.map(({ state }) => state)).toEqual(['new', 'new']);
  const [a, b] = lines;
  if (a === undefined || b === undefined) throw new Error('Nothing was found.');
  await over(first.path).dismiss([findingKey(a)], { note: 'agreed', by: 'ann', isUndone: false });
  await over(first.path).open([b], { by: 'ann', note: '' });
  expect(await stateOf(first.path)).toEqual([
    [a.tracking_number, 'dismissed'],
    [b.tracking_number, 'claimed'],
  ]);
  expect((await stateOf(corrected.path)).toSorted()).toEqual([
    ['C', 'new'],
    ['D', 'new'],
  ]);
});
