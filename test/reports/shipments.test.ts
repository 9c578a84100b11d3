import { afterAll, describe, expect, test } from 'vitest';
import { renderReport } from '../../reports/render/render-report.ts';
import type { ReportFilters } from '../../reports/report-filters.ts';
import { openReportSession, type ReportSession } from '../../reports/report-session.ts';
import type { ShipmentsPage, ShipmentsRequest } from '../../reports/shipments/list-shipments.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';

const invoices = seededInvoices(11, 60);

const fixture = await reportsFixture(invoices);
afterAll(async () => {
  for (const session of sessions.values()) (await session).close();
  await fixture.remove();
});

/** One session for each set of filters: opening it costs more than a query. */
const sessions = new Map<string, Promise<ReportSession>>();

async function runWith(
  conditions: ShipmentsRequest['conditions'] = {},
  more: Partial<ShipmentsRequest> & { readonly filters?: ReportFilters; readonly path?: string } = {},
): Promise<ShipmentsPage> {
  const { filters = {}, path: databasePath = fixture.path, ...request } = more;
  const key = JSON.stringify([databasePath, filters]);
  const session = sessions.get(key) ?? openReportSession({ databasePath, filters, timeLimitMs: 600_000 });
  sessions.set(key, session);
  return (await session).shipments({ conditions, limit: 10_000, ...request });
}

const numbers = ({ result }: ShipmentsPage) => result.rows.map((row) => row.tracking_number);

describe('a condition', () => {
  test('a tracking number is found however it is typed, and by its beginning', async () => {
    const path = (await reportsFixture([anInvoice([aShipment({ tracking: '1Z999AA1' }), aShipment()])])).path;
    for (const typed of ['1Z999AA1', ' 1z 999 aa1 ', '1Z999*'])
      expect(numbers(await runWith({ tracking: [typed] }, { path }))).toEqual(['1Z999AA1']);
    expect(numbers(await runWith({ tracking: ["1Z' or true --"] }, { path }))).toEqual([]);
  });

  test('an invoice is found by number and by id', async () => {
    const [first] = invoices;
    for (const typed of [first?.number ?? '', first?.id.toUpperCase() ?? ''])
      expect((await runWith({ invoice: [typed] })).result.rows).toHaveLength(first?.shipments.length ?? 0);
  });

  test('that is invalid is refused with an alternative', async () => {
    for (const [name, value, message] of [
      ['cost_from', '1,5', /"1,5" is no amount for cost from: write digits with a point/],
      ['trackin', 'x', /have no condition "trackin"\. Did you mean tracking/],
      ['is_colour', 'x', /have no condition "is_colour"/],
      ['lines', 'all', /take charges, credits, free/],
      ['days_from', 'soon', /"soon" is not a date/],
    ] as const) {
      await expect(runWith({ [name]: [value] })).rejects.toThrow(message);
      await expect(runWith({ [name]: [value] })).rejects.toMatchObject({ code: 'invalid-filter' });
    }
    await expect(runWith({}, { sort: 'cost' })).rejects.toThrow(/no column "cost" for sort/);
    await expect(runWith({}, { columns: ['carrier', 'zone_'] })).rejects.toThrow(/Did you mean zone/);
    await expect(runWith({}, { after: 'bm9uZQ' })).rejects.toThrow(/begin with the first/);
  });
});

describe('pages', () => {
  test('have the columns that were chosen, in the order of the list', async () => {
    const { result } = await runWith({}, { columns: ['billing_cost,carrier', 'tracking_number'], limit: 1 });
    expect(Object.keys(result.rows[0] ?? {})).toEqual(['carrier', 'tracking_number', 'billing_cost']);
  });
});

test('an export has every row, and names the filters and conditions inside', async () => {
  const { result } = await runWith({ service: ['Ground'] }, { filters: { carriers: ['fedex'] } });
  const about = JSON.parse(String((await renderReport(result, 'about')).body));
  expect(about.filters.carriers).toEqual(['fedex']);
  expect(about.parameters).toEqual({ service: 'Ground' });
  expect(
    String((await renderReport(result, 'csv')).body)
      .trim()
      .split('\r\n'),
  ).toHaveLength(result.rows.length + 1);
  for (const format of ['xlsx', 'parquet'] as const)
    expect((await renderReport(result, format)).body.length).toBeGreaterThan(1000);
});

test('reports in the head what another level holds', async () => {
  const service =
    invoices.find(({ level, state }) => level === 'partner' && state === 'loaded')?.shipments[0]?.tracking ??
    '';
  const { result } = await runWith({ tracking: [service] });
  expect(result.head.notes.join(' ')).toMatch(/Left out: \d shipments? of 1 invoice at partner level/);
});
