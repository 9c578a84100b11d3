import { afterAll, describe, expect, test } from 'vitest';
import { renderReport } from '../../reports/render/render-report.ts';
import type { ReportFilters } from '../../reports/report-filters.ts';
import { openReportSession, type ReportSession } from '../../reports/report-session.ts';
import type { ShipmentsPage, ShipmentsRequest } from '../../reports/shipments/list-shipments.ts';
import { testName } from '../support/processes/environment.ts';
import {
  anInvoice,
  aShipment,
  decimalText,
  type FixtureShipment,
  reportsFixture,
  tenThousandths,
} from '../support/reports-fixture.ts';
import { countedShipments, seededInvoices } from '../support/seeded-invoices.ts';

const invoices = seededInvoices(11, 60);
const counted = countedShipments(invoices);

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

function summed(rows: readonly FixtureShipment[]) {
  const currencies = [...new Set(rows.map(({ currency }) => currency))].sort();
  return currencies.map((currency) => {
    const of = rows.filter((row) => row.currency === currency);
    const sum = (lines: typeof of) => lines.reduce((all, { cost }) => all + tenThousandths(cost), 0n);
    return [
      ...[currency, of.length, decimalText(sum(of))],
      new Set(of.map(({ carrier, tracking }) => JSON.stringify([carrier, tracking]))).size,
      decimalText(sum(of.filter(({ cost }) => cost.startsWith('-')))),
    ];
  });
}

const totals = ({ totals: { rows } }: ShipmentsPage) =>
  rows.map((row) => [row.currency_code, row.shipments, row.billing_cost, row.packages, row.credits]);

describe('a condition', () => {
  const pounds = ({ weight, unit }: FixtureShipment) =>
    weight === null ? Number.NaN : Number(weight) * (unit === 'KG' ? 2.2046226218 : 1);
  const cases: readonly (readonly [string, string, (row: FixtureShipment) => boolean])[] = [
    ['service', '2day', ({ service }) => service === '2Day'],
    ['origin', ' 07001 ', ({ origin }) => origin === '07001'],
    ['cost_from', '50', ({ cost }) => Number(cost) >= 50],
    ['cost_to', '12.5', ({ cost }) => Number(cost) <= 12.5],
    ['weight_from', '100', (row) => pounds(row) >= 100],
    ['weight_to', '3.25', (row) => pounds(row) <= 3.25],
    ['lines', 'credits', ({ cost }) => cost.startsWith('-')],
    ['is_service_level', '', ({ service }) => service === null],
    ['is_zone', '5', ({ zone }) => ['5', '05', 'Zone 5'].includes(zone ?? '')],
    ['is_carrier_zone', '05', ({ zone }) => zone === '05'],
    ['is_month', '2026-03', ({ shipDate }) => shipDate.startsWith('2026-03')],
    ['is_week', '2026-W10', ({ shipDate }) => shipDate >= '2026-03-02' && shipDate < '2026-03-09'],
    ['is_weight_break', '2 to 3 lb', (row) => pounds(row) > 2 && pounds(row) <= 3],
    ['is_weight_break', 'no weight', ({ weight }) => weight === null],
    ['is_tenant', testName(), ({ tenant }) => tenant === testName()],
    ['days_to', '2026-02-01', ({ shipDate }) => shipDate <= '2026-02-01'],
  ];

  test.each(cases)(
    '%s of "%s" finds exactly those lines, and sums them exactly',
    async (name, value, holds) => {
      const found = await runWith({ [name]: [value] });
      const expected = counted.filter(holds);
      expect(expected.length).toBeGreaterThan(0);
      expect(numbers(found).sort()).toEqual(expected.map(({ tracking }) => tracking).sort());
      expect(totals(found)).toEqual(summed(expected));
      expect(found.result.head.shipments).toBe(expected.length);
      expect(found.result.head.parameters).toEqual({ [name]: value === '' ? '(none)' : value });
    },
  );

  test('of several values means any, several conditions mean all, beside the filters of every report', async () => {
    const found = await runWith(
      { service: ['Ground', '2Day'], lines: ['charges'] },
      { filters: { carriers: ['UPS'], from: '2026-02-01', to: '2026-03-31' } },
    );
    const expected = counted.filter(
      ({ service, cost, carrier, shipDate }) =>
        (service === 'Ground' || service === '2Day') &&
        Number(cost) > 0 &&
        carrier === 'ups' &&
        shipDate >= '2026-02-01' &&
        shipDate < '2026-04-01',
    );
    expect(totals(found)).toEqual(summed(expected));
  });

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
  test.each([
    'ship_date',
    '-ship_date',
    'service_level',
    '-billing_cost',
    'origin',
    '-billable_weight',
    'invoice_id',
    '-loaded_at',
  ])('by %s follow one another without a gap or a repeat, in one order', async (sort) => {
    const whole = await runWith({}, { sort });
    const key = (row: Readonly<Record<string, unknown>>) => `${row.invoice_id}/${row.row_number}`;
    const seen: string[] = [];
    let after: string | null | undefined;
    do {
      const page = await runWith({}, { sort, limit: 150, totals: whole.totals, ...(after ? { after } : {}) });
      seen.push(...page.result.rows.map(key));
      expect(page.totals.rows).toEqual(whole.totals.rows);
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual(whole.result.rows.map(key));
    expect(new Set(seen).size).toBe(counted.length);
    const column = sort.replace('-', '');
    const values = whole.result.rows.map((row) => row[column] ?? null);
    const known = values.filter((value) => value !== null);
    expect(values.slice(known.length).every((value) => value === null)).toBe(true);
    const isMoney = column === 'billing_cost' || column === 'billable_weight';
    const sorted = [...known].sort((one, other) =>
      isMoney
        ? Number(one) - Number(other)
        : Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other))),
    );
    expect(known).toEqual(sort.startsWith('-') ? sorted.toReversed() : sorted);
  });

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

test('two partners are never added up', async () => {
  const two = await reportsFixture([
    anInvoice([aShipment({ cost: '1', tracking: 'SAME' })], { partnerId: 'one' }),
    anInvoice([aShipment({ cost: '2', tracking: 'SAME' })], { partnerId: 'two' }),
  ]);
  try {
    const found = await runWith({}, { path: two.path });
    expect(found.totals.rows.map((row) => [row.partner_id, row.billing_cost, row.packages])).toEqual([
      ['one', '1.0000', 1],
      ['two', '2.0000', 1],
    ]);
  } finally {
    await two.remove();
  }
});
