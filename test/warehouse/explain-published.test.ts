import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { diffVersions, explainTracking } from '../../warehouse/explain-published.ts';
import {
  aCsv,
  anEvent,
  archiveCsv,
  aWarehouse,
  type Cells,
  INVOICE,
  loadCsv,
  sha256,
  type TestWarehouse,
} from './support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

const cost = (number: string, amount: string): Cells => ({
  'Tracking Number': number,
  'Billing Cost': amount,
});

describe('diffVersions', () => {
  test.each<[string, readonly Cells[], readonly Cells[], readonly (readonly (string | null)[])[]]>([
    [
      'rows added, removed, doubled and changed in cost',
      [cost('same', '1'), cost('changed', '2'), cost('gone', '3'), cost('twice', '4')],
      [cost('same', '1'), cost('changed', '2.5'), cost('new', '5'), cost('twice', '4'), cost('twice', '4')],
      [
        ['added', 'new', null, '5.0000'],
        ['added', 'twice', null, '4.0000'],
        ['changed', 'changed', '2.0000', '2.5000'],
        ['removed', 'gone', '3.0000', null],
      ],
    ],
    [
      'two costs only',
      [cost('a', '1'), cost('b', '2'), cost('c', '7')],
      [cost('a', '10'), cost('b', '3'), cost('c', '7')],
      [
        ['changed', 'a', '1.0000', '10.0000'],
        ['changed', 'b', '2.0000', '3.0000'],
      ],
    ],
    [
      'costs of a number that occurs twice, with empty cells',
      [
        { ...cost('twice', '1'), Origin: '' },
        { ...cost('twice', '5'), Origin: '' },
      ],
      [
        { ...cost('twice', '6'), Origin: '' },
        { ...cost('twice', '2'), Origin: '' },
      ],
      [
        ['changed', 'twice', '1.0000', '2.0000'],
        ['changed', 'twice', '5.0000', '6.0000'],
      ],
    ],
    [
      'more than the cost',
      [{ ...cost('a', '1'), 'Carrier Zone': '2' }],
      [{ ...cost('a', '2'), 'Carrier Zone': '3' }],
      [
        ['added', 'a', null, '2.0000'],
        ['removed', 'a', '1.0000', null],
      ],
    ],
  ])('lists %s', async (_, before, after, changes) => {
    await loadCsv(t, aCsv(before));
    await loadCsv(t, aCsv(after));
    const { path } = await t.warehouse.publish();
    const diff = await diffVersions({ databasePath: path, invoiceId: INVOICE });
    expect(diff).toMatchObject({ from: { version: 1 }, to: { version: 2, isCurrent: true } });
    expect(diff.changes.map((c) => [c.change, c.trackingNumber, c.oldBillingCost, c.newBillingCost])).toEqual(
      changes,
    );
  });
});

describe('explainTracking', () => {
  test('traces a row to line, file, hash, URL, event and run', async () => {
    const bytes = aCsv([{}, {}, { 'Tracking Number': 'wanted' }]);
    const file = await archiveCsv(t, bytes);
    const event = anEvent('invoice_finalized', { fileHashSha256: file.sha256 });
    await t.record([event]);
    await t.archive.putFact({
      kind: 'file',
      at: '2026-03-01T00:00:01.000Z',
      invoiceId: INVOICE,
      sha256: file.sha256,
      sizeBytes: file.sizeBytes,
      source: 'event',
      from: 'https://storage.example/f.csv',
    });
    await t.warehouse.ingestArchive();
    await loadCsv(t, bytes, { eventId: event.eventId, workflowRunId: 'run-7' });
    const { path } = await t.warehouse.publish();
    const [found] = await explainTracking({
      databasePath: path,
      archive: t.archive,
      trackingNumber: 'wanted',
    });
    expect(found).toMatchObject({
      invoiceId: INVOICE,
      rowNumber: 3,
      // A header line, then two records of two lines each.
      line: 6,
      sha256: file.sha256,
      source: 'event',
      cameFrom: 'https://storage.example/f.csv',
      eventId: event.eventId,
      workflowRunId: 'run-7',
      isCurrent: true,
    });
    expect(
      await explainTracking({ databasePath: path, archive: null, trackingNumber: "x' or 1=1 --" }),
    ).toEqual([]);
  });

  test.each([
    [
      'its event and the new URL named',
      { fileHashSha256: sha256(aCsv()) },
      sha256(aCsv()),
      ['hash', 'regenerate'],
    ],
    [
      'only the new URL came with',
      { fileHashSha256: 'a'.repeat(64) },
      sha256(aCsv()),
      ['hash', 'regenerate'],
    ],
    ['no source stated', { fileHashSha256: 'a'.repeat(64) }, null, ['header', null]],
  ])(
    'reports a file with the hash that %s',
    async (_whose, announced, announcedSha256, [proof, hashFrom]) => {
      const event = anEvent('invoice_finalized', announced);
      await t.record([event]);
      await loadCsv(t, aCsv(), { eventId: event.eventId, announcedSha256, source: 'regenerate' });
      const { path: databasePath } = await t.warehouse.publish();
      const [found] = await explainTracking({ databasePath, archive: null, trackingNumber: '1Z0' });
      expect(found).toMatchObject({
        ...{ proof, hashFrom, eventId: event.eventId },
        ...{ eventReceivedAt: event.receivedAt, eventSha256: announced.fileHashSha256 },
      });
    },
  );

  test('reports an announcement of the form that HTTP compressed', async () => {
    const encodedSha256 = 'e'.repeat(64);
    const event = anEvent('invoice_finalized', { fileHashSha256: encodedSha256 });
    await t.record([event]);
    const announcedSha256 = sha256(aCsv());
    await loadCsv(t, aCsv(), { eventId: event.eventId, announcedSha256, encodedSha256, source: 'event' });
    const { path: databasePath } = await t.warehouse.publish();
    const [found] = await explainTracking({ databasePath, archive: null, trackingNumber: '1Z0' });
    expect(found).toMatchObject({
      ...{ proof: 'announced', hashFrom: 'event', eventId: event.eventId, encodedSha256 },
    });
  });
});

test('level_cross_check finds lines billed at one level only and lines that differ', async () => {
  const partner = '22222222-2222-4222-8222-222222222222';
  await t.record([
    anEvent('invoice_finalized'),
    anEvent('invoice_finalized', { header: { invoiceId: partner, tenantId: null, partnerTenantId: null } }),
  ]);
  await loadCsv(t, aCsv([cost('both', '1'), cost('differs', '2'), cost('tenant', '3')]));
  await loadCsv(t, aCsv([cost('both', '1'), cost('differs', '2.01'), cost('partner', '4')], partner), {
    invoiceId: partner,
  });
  const found = await t.query('select tracking_number, verdict from level_cross_check order by all');
  expect(found.map(Object.values)).toEqual([
    ['both', 'equal'],
    ['differs', 'differs'],
    ['partner', 'only-partner'],
    ['tenant', 'only-tenant'],
  ]);
});
