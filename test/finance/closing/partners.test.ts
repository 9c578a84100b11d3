import { afterAll, expect, test } from 'vitest';
import { checklistOf } from '../../../finance/closing/checklist.ts';
import { recordMonth } from '../../../finance/closing/month-journal.ts';
import { restatedSums } from '../../../finance/closing/restated.ts';
import { anInvoice, aShipment, reportsFixture } from '../../support/reports-fixture.ts';

const disputes = { atRisk: async () => ({ lines: [], notes: [], unchecked: [], missing: [] }) as never };
const level = { level: 'partner', tenantId: null } as const;
const billed = anInvoice([aShipment({ cost: '12.5000' })], { ...level, number: 'P-1' });
const late = anInvoice([aShipment({ cost: '3.2500' })], {
  ...level,
  number: 'P-2',
  loadedAt: '2026-04-20T12:00:00Z',
});
const before = await reportsFixture([billed], { publishedAt: '2026-04-02T00:00:00Z' });
const after = await reportsFixture([billed, late], { publishedAt: '2026-05-02T00:00:00Z' });
afterAll(async () => {
  await before.remove();
  await after.remove();
});

test('a partner without tenants closes its month with what it was billed, and a later file is a line of the next one', async () => {
  const sources = {
    ...{ dataDir: before.folder, timeLimitMs: 60_000, now: () => new Date('2026-05-02T12:00:00Z'), disputes },
  };
  const closed = await checklistOf(
    { ...sources, databasePath: before.path },
    { period: '2026-03', by: 'ship-date' },
  );
  expect(closed.totals).toMatchObject([{ currency_code: 'USD', lines: 1, billed: '12.5000' }]);
  await recordMonth(before.folder, {
    ...{
      kind: 'closed',
      period: '2026-03',
      at: '2026-04-02T08:00:00.000Z',
      by: 'ann',
      reason: '',
      date_basis: 'ship-date',
    },
    ...{
      publication: 1,
      published_at: closed.publishedAt,
      totals: [...closed.totals],
      open: [],
      restated: [],
    },
  });
  const next = await checklistOf(
    { ...sources, databasePath: after.path },
    { period: '2026-04', by: 'ship-date' },
  );
  expect(restatedSums(next.restated)).toEqual([
    { period: '2026-03', partner_id: 'partner-1', currency_code: 'USD', difference: '3.2500' },
  ]);
});

test('two partners have a total each, and changes each, also in one currency', async () => {
  const other = { partnerId: 'partner-2', tenantId: 'tenant-2' };
  const [one, two] = [
    anInvoice([aShipment({ cost: '1.0000' })]),
    anInvoice([aShipment({ cost: '2.0000' })], other),
  ];
  const fixture = await reportsFixture([one, two], { publishedAt: '2026-04-02T00:00:00Z' });
  const { totals } = await checklistOf(
    {
      ...{ dataDir: fixture.folder, databasePath: fixture.path, timeLimitMs: 60_000 },
      ...{ now: () => new Date('2026-04-02T12:00:00Z'), disputes },
    },
    { period: '2026-03', by: 'ship-date' },
  );
  await fixture.remove();
  expect(totals).toEqual([
    { partner_id: 'partner-1', currency_code: 'USD', lines: 1, billed: '1.0000' },
    { partner_id: 'partner-2', currency_code: 'USD', lines: 1, billed: '2.0000' },
  ]);
});
