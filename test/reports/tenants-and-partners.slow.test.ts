import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReportFilters } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import { runReport } from '../../reports/report-session.ts';
import {
  anInvoice,
  aShipment,
  type FixtureInvoice,
  type ReportsFixture,
  reportsFixture,
} from '../support/reports-fixture.ts';

function billed(tenant: string, cost: string, stated: Partial<FixtureInvoice> = {}): FixtureInvoice {
  return anInvoice([aShipment({ tenant, cost })], { tenant, ...stated });
}

async function over(invoices: readonly FixtureInvoice[]): Promise<{
  readonly fixture: ReportsFixture;
  readonly run: (name: string, filters?: ReportFilters) => Promise<ReportResult>;
}> {
  const fixture = await reportsFixture(invoices);
  return {
    fixture,
    run: fixture.run,
  };
}

describe('tenants', () => {
  let it: Awaited<ReturnType<typeof over>>;
  beforeAll(async () => {
    it = await over([
      billed('Odd & Sons', '1', { tenantId: 't-1' }),
      billed('Odd & Sons', '2', { tenantId: 't-2' }),
      billed('Odd & Sons', '4', { tenantId: null, level: null }),
      billed('Old Name', '8', { tenantId: 't-3', date: '2026-03-10', loadedAt: '2026-04-02T00:00:00Z' }),
      billed('New Name', '16', { tenantId: 't-3', date: '2026-03-17' }),
      billed('Old Name', '32', { tenantId: 't-4' }),
      billed('ups', '64', { tenantId: 't-5' }),
      anInvoice([], { tenant: 'draft-7', tenantId: 't-7', state: 'draft', proof: null }),
    ]);
  });
  afterAll(() => it.fixture.remove());

  test.each([
    ['t-1', '1.0000', []],
    ['T-1', '1.0000', ['The tenant "T-1" is Odd & Sons (t-1).']],
    ['New Name', '24.0000', ['The tenant "New Name" is New Name (t-3).']],
    ['new name', '24.0000', ['The tenant "new name" is New Name (t-3).']],
    ['Old Name', '56.0000', ['The tenant "Old Name" is New Name (t-3) and Old Name (t-4).']],
    [
      'Odd & Sons',
      '7.0000',
      ['The tenant "Odd & Sons" is Odd & Sons (t-1) and Odd & Sons (t-2) and Odd & Sons (no id).'],
    ],
  ])('match the filter %s', async (filter, cost, notes) => {
    const { rows, head } = await it.run('carriers', { tenants: [filter] });
    expect(rows.map((row) => row.billing_cost)).toEqual([cost]);
    const expected = notes.length > 0 ? notes : [`The tenant "${filter}" is Odd & Sons (t-1).`];
    expect(head.notes).toEqual(expect.arrayContaining(expected));
  });

  test('that do not exist match nothing, and the nearest name is suggested', async () => {
    const { rows, head } = await it.run('tenants', { tenants: ['new nam'] });
    expect(rows).toEqual([]);
    expect(head.matches).toEqual([
      { filter: 'tenant', given: 'new nam', matched: [], nearest: ['New Name'] },
    ]);
    expect(head.notes[0]).toBe('No tenant is "new nam"; the nearest is New Name.');
  });
});

describe('names in filters', () => {
  let it: Awaited<ReturnType<typeof over>>;
  beforeAll(async () => {
    it = await over([
      anInvoice([
        aShipment({ carrier: 'ups', zone: 'zone 5', cost: '1' }),
        aShipment({ carrier: 'Ups', zone: '6', cost: '2' }),
        aShipment({ carrier: 'usps', zone: null, cost: '4' }),
      ]),
    ]);
  });
  afterAll(() => it.fixture.remove());

  test.each([
    [{ carriers: ['UPS'] }, '3.0000', 'The carrier "UPS" is Ups and ups.'],
    [{ carriers: ['USPS', 'ups'] }, '7.0000', 'The carrier "USPS" is usps.'],
    [{ zones: ['ZONE 5'] }, '1.0000', 'The zone "ZONE 5" is zone 5.'],
    [{ currencies: ['usd'] }, '7.0000', 'The currency "usd" is USD.'],
    [{ carriers: ['upss'] }, undefined, 'No carrier is "upss"; the nearest are ups and Ups and usps.'],
    [{ zones: ['77'] }, undefined, 'No zone is "77"'],
  ])('%j match other letter cases, with a note', async (filters, cost, note) => {
    const { rows, head } = await it.run('tenants', filters);
    expect(rows[0]?.billing_cost).toBe(cost);
    expect(head.notes.join('\n')).toContain(note);
  });

  test('that are written as in the file need no note', async () => {
    const { rows, head } = await it.run('tenants', { zones: [''], carriers: ['usps'], currencies: ['USD'] });
    expect(rows[0]?.billing_cost).toBe('4.0000');
    expect(head.notes).toEqual([]);
  });
});

describe('partners', () => {
  let it: Awaited<ReturnType<typeof over>>;
  const both = [
    billed('Acme', '1', { partnerId: 'p-1' }),
    billed('Acme', '2', { partnerId: 'p-2', tenantId: 'other' }),
    billed('North Parcel', '1', { partnerId: 'p-2', level: 'partner' }),
  ];
  beforeAll(async () => {
    it = await over(both);
  });
  afterAll(() => it.fixture.remove());

  test.each(['p-2', 'P-2', 'north parcel'])('match the filter %s', async (filter) => {
    const { rows, head } = await it.run('tenants', { partners: [filter] });
    expect(rows.map((row) => [row.billing_cost, row.partner_id])).toEqual([['2.0000', 'p-2']]);
    expect(head.shipments).toBe(1);
  });

  test('that do not exist match nothing', async () => {
    const { rows, head } = await it.run('tenants', { partners: ['p-9'] });
    expect([rows, head.shipments]).toEqual([[], 0]);
    expect(head.notes[0]).toBe('No partner is "p-9"; the nearest are p-1 and p-2.');
  });
});

describe('as known on a date', () => {
  test('means the end of that day in UTC', async () => {
    const fixture = await reportsFixture([billed('Acme', '1', { loadedAt: '2026-03-10T23:59:59.900Z' })]);
    const on = async (asKnownOn: string) =>
      runReport({ databasePath: fixture.path, name: 'tenants', filters: { asKnownOn } });
    expect((await on('2026-03-10')).rows).toHaveLength(1);
    expect((await on('2026-03-09')).rows).toEqual([]);
    expect((await on('2026-03-10T23:59:00Z')).rows).toEqual([]);
    expect((await on('2026-03-10')).head.notes).toContain('As known on 2026-03-10T23:59:59.999Z.');
    await fixture.remove();
  });
});
