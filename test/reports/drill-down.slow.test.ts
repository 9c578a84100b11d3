/**
 * Every number of every report links to the rows that it counts, and their totals equal the cell.
 * Runs over difficult lines, and over the invoices of `sandbox seed --months`.
 *
 * Of each report rows from its first to its last are followed, all numbers of each; `BILLSYNC_EVERY_LINK=1` follows all
 * rows, which takes minutes.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compareDecimals, sumOfAmounts } from '../../lib/wire/decimal.ts';
import { listReports, parseReport } from '../../reports/catalogue.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { type CellDrilldown, drilldownOfCell } from '../../reports/drilldown.ts';
import { drawCharts } from '../../reports/render/charts.ts';
import type { ReportFilters } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import { openReportSession, type ReportSession } from '../../reports/report-session.ts';
import { monthsInvoices } from '../support/months-invoices.ts';
import { anInvoice, aShipment, type ReportsFixture, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';

const reports = listReports();
/** Two of one name, a renamed one, and a second partner's, so that labels differ from the names of the lines. */
const awkward = [
  anInvoice([aShipment({ tenant: 'Twin' })], { tenantId: 'twin-1' }),
  anInvoice([aShipment({ tenant: 'Twin', carrier: 'UPS' })], { tenantId: 'twin-2' }),
  anInvoice([aShipment({ tenant: 'Old Name' })], { tenantId: 'renamed', date: '2026-02-01' }),
  anInvoice([aShipment({ tenant: 'New Name' })], { tenantId: 'renamed', date: '2026-03-20' }),
  anInvoice([aShipment({ tenant: 'Drifting', service: 'Saver' })], {
    earlier: [{ loadedAt: '2026-03-09T12:00:00Z', shipments: [aShipment({ cost: '3' })] }],
  }),
  anInvoice([], { number: 'INV-DRAFT', state: 'draft', proof: null }),
];
type Parameters = Readonly<Record<string, string>>;

const PARAMETERS: Readonly<Record<string, readonly Parameters[]>> = {
  cost: [
    { by: 'month+carrier' },
    { by: 'tenant+service' },
    { by: 'zone' },
    { by: 'origin' },
    { by: 'weight' },
    { by: 'week' },
  ],
  bridge: [{}, { by: 'carrier' }],
  mix: [{ by: 'zone' }, { by: 'service', grain: 'week' }, { by: 'weight' }],
  summary: [{ grain: 'month' }, { grain: 'week' }],
  outliers: [{ min_shipments: '3', threshold: '1' }],
  'late-billed': [{ days: '10' }],
  restatement: [{ first: '2026-03-09T18:00:00Z', second: '2026-03-31T00:00:00Z' }],
  'accrual-journal': [{ min_months: '1' }],
  'minimum-charges': [{ min_cells: '1', min_shipments: '1' }],
  'dimensional-weight': [{ min_shipments: '3', times: '1.1', min_lb: '1' }],
  'price-changes': [{}, { by: 'zone', min_shipments: '1' }],
  'what-if': [{}, { by: 'service', min_shipments: '1' }, { by: 'zone', min_shipments: '1' }],
};
const FILTERS: readonly (readonly [lines: 'awkward' | 'months', ReportFilters])[] = [
  ['awkward', {}],
  ['awkward', { from: '2026-02-03', to: '2026-04-19', carriers: ['UPS', 'fedex'], by: 'invoice-date' }],
  ['awkward', { level: 'partner' }],
  ['months', {}],
];

const fixtures = new Map<string, ReportsFixture>();
const sessions = new Map<string, Promise<ReportSession>>();

beforeAll(async () => {
  const fixture = await reportsFixture([...seededInvoices(21, 11), ...awkward]);
  fixtures.set('awkward', fixture);
  const billed = monthsInvoices({ now: new Date('2026-07-15T00:00:00Z'), months: 5, shipments: 12 });
  fixtures.set('months', await reportsFixture(billed, { publishedAt: '2026-07-15T00:00:00Z' }));
  const files = join(fixture.folder, 'user', 'report-files');
  await mkdir(files, { recursive: true });
  await writeFile(
    join(files, 'budget.csv'),
    'month,tenant,carrier,currency_code,amount\n2026-03,,,USD,100\n2026-03,Acme,ups,USD,50\n',
  );
  await writeFile(
    join(files, 'rates.csv'),
    'carrier,service_level,zone,from_lb,to_lb,currency_code,rate\n,,,,,USD,9\n',
  );
  await writeFile(
    join(files, 'costs.csv'),
    'carrier,tracking_number,currency_code,cost\nups,T21-0-0,USD,1\n',
  );
  await writeFile(
    join(files, 'statements.csv'),
    'carrier,carrier_invoice_date,currency_code,amount\nUPS,2026-03-28,USD,5\n',
  );
});
afterAll(async () => {
  for (const session of sessions.values()) (await session).close();
  for (const fixture of fixtures.values()) await fixture.remove();
});

function sessionOf(lines: string, filters: ReportFilters): Promise<ReportSession> {
  const key = JSON.stringify([lines, filters]);
  const databasePath = fixtures.get(lines)?.path ?? '';
  const session = sessions.get(key) ?? openReportSession({ databasePath, filters, timeLimitMs: 600_000 });
  sessions.set(key, session);
  return session;
}

/** Run once, for its table and for its charts. */
const results = new Map<string, Promise<ReportResult>>();
function resultOf(
  name: string,
  request: { readonly lines: string; readonly filters: ReportFilters; readonly parameters: Parameters },
): Promise<ReportResult> {
  const key = JSON.stringify([name, request]);
  const result =
    results.get(key) ??
    sessionOf(request.lines, request.filters).then((session) => session.run(name, request.parameters));
  results.set(key, result);
  return result;
}

/** Filters of a report's page become fields of the target of a cell; a fixed level takes the place of the page's. */
const found = new Map<string, Promise<readonly ReportRow[]>>();
function totalsOf(
  lines: string,
  filters: ReportFilters,
  { fields }: CellDrilldown,
): Promise<readonly ReportRow[]> {
  const { level, ...conditions } = fields;
  const request = level === undefined ? filters : { ...filters, level };
  const key = JSON.stringify([lines, request, conditions]);
  const values = Object.fromEntries(Object.entries(conditions).map(([name, value]) => [name, [value]]));
  const rows =
    found.get(key) ??
    sessionOf(lines, request)
      .then((session) => session.totalShipments(values))
      .then(({ rows }) => rows);
  found.set(key, rows);
  return rows;
}

const withRows = new Map<string, number>();

function spread(rows: readonly ReportRow[], most: number): readonly ReportRow[] {
  if (process.env.BILLSYNC_EVERY_LINK === '1' || rows.length <= most) return rows;
  return Array.from({ length: most }, (_, index) => rows[Math.floor((index * rows.length) / most)] ?? {});
}

describe.each(FILTERS)('of %s lines with the filters %j', (lines, filters) => {
  test.each(reports.map(({ name }) => name))('every number of %s', async (name) => {
    const { drilldowns } = reports.find((report) => report.name === name) ?? { drilldowns: [] };
    const isWhole = Object.keys(filters).length === 0;
    let followed = 0;
    let answered = 0;
    for (const parameters of (PARAMETERS[name] ?? [{}]).slice(0, lines === 'months' ? 1 : undefined)) {
      const result = await resultOf(name, { lines, filters, parameters });
      answered += result.rows.length;
      const numbers = result.columns.filter(({ align }) => align === 'right');
      for (const row of spread(result.rows, !isWhole ? 1 : lines === 'months' ? 2 : 4)) {
        for (const column of numbers) {
          if (row[column.name] === null) continue;
          const lead = drilldownOfCell({ drilldowns, result }, [row], column.name);
          if (lead === null) throw new Error(`${name} ${column.name} has no link`);
          followed += 1;
          if (lead.target !== 'shipments') {
            expect(Object.values(lead.fields)[0]).toBeTruthy();
            continue;
          }
          const totals = await totalsOf(lines, filters, lead);
          const total = totals.find(({ currency_code }) => currency_code === row.currency_code);
          const where = `${name} ${JSON.stringify(parameters)} ${column.name} of ${JSON.stringify(row)} by ${JSON.stringify(lead.fields)}`;
          // A row may be zero without any line.
          if (lead.total !== null)
            expect(Number(total?.[lead.total] ?? 0) === 0 ? 0 : total?.[lead.total], where).toEqual(
              Number(row[column.name]) === 0 ? 0 : row[column.name],
            );
        }
      }
    }
    expect(followed > 0, `numbers of ${name}`).toBe(answered > 0);
    if (isWhole) withRows.set(name, (withRows.get(name) ?? 0) + answered);
  });
});

test.each(reports.map(({ name }) => name))('every bar, point and cell of the charts of %s', async (name) => {
  const { drilldowns } = reports.find((report) => report.name === name) ?? { drilldowns: [] };
  for (const lines of ['awkward', 'months'] as const) {
    for (const parameters of (PARAMETERS[name] ?? [{}]).slice(0, lines === 'months' ? undefined : 1)) {
      const result = await resultOf(name, { lines, filters: {}, parameters });
      const marks = new Map<string, readonly [rows: readonly ReportRow[], column: string]>();
      const charts = await drawCharts(result, (rows, column) => {
        marks.set(JSON.stringify([rows, column]), [rows, column]);
        return null;
      });
      expect(marks.size > 0, `${name} ${JSON.stringify(parameters)}`).toBe(charts.length > 0);
      for (const [rows, column] of [...marks.values()].filter((_, index) => index % 5 === 0).slice(0, 3)) {
        const lead = drilldownOfCell({ drilldowns, result }, rows, column);
        const where = `${name} ${column} of ${JSON.stringify(rows)} by ${JSON.stringify(lead?.fields)}`;
        // A bar of several rows links to their common fields, or has no link.
        if (lead === null) expect(rows.length, where).toBeGreaterThan(1);
        else expect(Object.keys(lead.fields).length, where).toBeGreaterThan(0);
        if (lead === null || lead.total === null || lead.target !== 'shipments') continue;
        const totals = await totalsOf(lines, {}, lead);
        const currency = rows[0]?.currency_code;
        const total = totals.find(({ currency_code }) => currency_code === currency);
        if (rows.length === 1) expect(total?.[lead.total] ?? null, where).toEqual(rows[0]?.[column]);
        else {
          const ofRows = sumOfAmounts(rows.map((row) => String(row[column])));
          expect(compareDecimals(String(total?.[lead.total]), ofRows), where).toBe(0);
        }
      }
    }
  }
});

test('has rows for every report', () => {
  expect([...withRows].filter(([, rows]) => rows === 0).map(([name]) => name)).toEqual([]);
});

describe('a header', () => {
  test('of every report links its numbers', () => {
    expect(reports.filter(({ drilldowns }) => drilldowns.length === 0).map(({ name }) => name)).toEqual([]);
    const known = reports.flatMap(({ drilldowns }) =>
      drilldowns.flatMap(({ by, fixed }) => [...by.map(({ column }) => column), ...Object.keys(fixed)]),
    );
    expect(known).toContain('carrier');
  });

  test('that cannot be read is refused', () => {
    const header =
      '-- title: t\n-- purpose: Spend, 1\n-- grain: g\n-- means: m\n-- order: o\n-- limits: c\n-- drilldown: nowhere by x\n';
    expect(() => parseReport('odd', header)).toThrow('Report odd: it cannot link to "nowhere by x".');
  });
});
