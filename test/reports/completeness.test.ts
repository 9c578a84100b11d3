import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCompared } from '../../reports/compare.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { runReport } from '../../reports/report-session.ts';
import { writeReport } from '../../worker/scheduled-reports.ts';
import { dashboardOver } from '../dashboard/support.ts';
import { anInvoice, aShipment, type FixtureInvoice, reportsFixture } from '../support/reports-fixture.ts';

const week = (number: string, start: string, end: string, more: Partial<FixtureInvoice> = {}) =>
  anInvoice(
    (more.state ?? 'loaded') === 'loaded'
      ? [aShipment({ shipDate: start, invoiceDate: end, cost: '10' })]
      : [],
    { ...{ number, start, end, date: end, tenant: 'Acme', currency: 'USD' }, ...more },
  );
const fixture = await reportsFixture(
  [
    ...['1', '2', '3', '4'].map((day) => week(`A-${day}`, `2026-08-0${day}`, `2026-08-0${day}`)),
    week('A-5', '2026-09-01', '2026-09-30'),
    week('A-6', '2026-10-01', '2026-10-08'),
    week('A-7', '2026-10-09', '2026-10-15', { state: 'draft' }),
    week('B-1', '2026-10-09', '2026-10-16', { state: 'finalized', tenant: 'Beta', statedTotal: '1234.5' }),
    week('C-1', '2026-10-17', '2026-10-18', { state: 'needs_attention' }),
    week('C-2', '2026-10-29', '2026-11-02', { state: 'draft' }),
    week('V', '2026-10-01', '2026-10-08', { state: 'voided', voidedAt: '2026-10-09T00:00:00Z' }),
    week('D-1', '2026-11-01', '2026-11-04'),
  ],
  { publishedAt: '2026-11-05T06:00:00Z' },
);
const withGap = await reportsFixture(
  [1, 2, 3, 4, 5, 6, 8].map((day) => week(`G-${day}`, `2026-10-0${day}`, `2026-10-0${day}`)),
  { publishedAt: '2026-11-05T06:00:00Z' },
);
const dashboard = await dashboardOver(fixture.path);
afterAll(async () => {
  await dashboard.close();
  for (const each of [fixture, withGap]) await each.remove();
});

const october = { from: '2026-10-01', to: '2026-10-31' };
const NOT_COUNTED =
  '4 known invoices: A-7 of Acme (draft, 0.00 USD), B-1 of beta (waiting to be loaded, 1,234.50 USD), C-1 of Acme (needs attention, 0.00 USD) and 1 more.';

test('states a change with and without known invoices that are not counted, and that a month is open', async () => {
  const page = await (await fetch(`${dashboard.url}/?from=2026-10-01&to=2026-10-31`)).text();
  // 10.00 in September and in October, for which 1,234.50 are stated that are not counted.
  expect(page).toContain('0.00 % (incomplete); +12,345.00 % with invoices that are not counted, as stated');
  const summary = await runReport({ databasePath: fixture.path, name: 'summary' });
  expect(summary.rows.map(({ month, is_open: isOpen }) => [month, isOpen])).toEqual([
    ['2026-08', false],
    ['2026-09', false],
    ['2026-10', false],
    ['2026-11', true],
  ]);
  const html = String((await renderReport(summary, 'html')).body);
  expect(html).toMatch(/2026-10 <b[^>]*>10.00 USD<\/b>, .* one before; 2026-11, still open, <b/);
});

test('names known invoices that are not counted in the report, its exports, its page and the scheduled report', async () => {
  const runWith = (filters: object, databasePath = fixture.path) =>
    runReport({ databasePath, name: 'tenants', filters });
  const result = await runWith(october);
  expect(result.head.notes[0]).toBe(`Not counted: ${NOT_COUNTED}`);
  const xlsx = JSON.stringify((await renderReport(result, 'html')).body);
  expect(xlsx).toContain('C-1 of Acme (needs attention, 0.00 USD) and 1 more.');
  expect(String((await renderReport(result, 'about')).body)).toContain(NOT_COUNTED);
  for (const path of ['/reports/tenants', '/shipments'])
    expect(await (await fetch(`${dashboard.url}${path}?from=2026-10-01&to=2026-10-31`)).text()).toContain(
      'C-1 of Acme (needs attention, 0.00 USD) and 1 more.',
    );
  const { about } = await writeReport(
    {
      ...{ name: 'monthly', report: 'tenants', format: 'csv', period: 'last-month', filters: {} },
      ...{ parameters: {}, tables: {}, folder: join(fixture.folder, 'scheduled') },
    },
    { databasePath: fixture.path, now: new Date('2026-11-06T05:00:00Z') },
  );
  expect(about).toContain(NOT_COUNTED);
  expect((await runWith(october, withGap.path)).head.notes[0]).toBe(
    'Not counted: 1 gap in the invoice numbers: 1 number is missing between G-6 and G-8 of Acme.',
  );
});

test('marks a comparison with an open or incomplete period in its title and first note', async () => {
  const compared = (filters: object, name = 'tenants') =>
    runCompared({ databasePath: fixture.path, name, filters }, { compare: 'previous' });
  const incomplete = `Incomplete: 2026-10-01 to 2026-10-31 lacks ${NOT_COUNTED}`;
  for (const name of ['tenants', 'bridge']) {
    const result = await compared(october, name);
    expect(result.title, name).toMatch(/\(incomplete\)$/);
    expect(result.head.notes[0], name).toBe(incomplete);
    const open = await compared({ from: '2026-11-01', to: '2026-11-30' }, name);
    expect(open.title, name).toMatch(/\(still open, incomplete\)$/);
    expect(open.head.notes.join('\n'), name).toContain(
      'Still open: 2026-11-01 to 2026-11-30: the period ends on 2026-11-30; the data was published on 2026-11-05.',
    );
  }
  const whole = await compared({ from: '2026-09-01', to: '2026-09-30' });
  expect(whole.title).not.toMatch(/incomplete|still open/);
  const budget = join(fixture.folder, 'budget.csv');
  await writeFile(budget, 'month,tenant,carrier,currency_code,amount\n2026-11,,,USD,100\n');
  const spent = await runReport({ databasePath: fixture.path, name: 'budget', tables: { budget } });
  expect(spent.title).toMatch(/\(still open, incomplete\)$/);
  expect(spent.head.notes[0]).toMatch(/^Still open: 2026-11-01/);
  const address = `${dashboard.url}/?from=2026-10-01&to=2026-10-31`;
  const { spend } = (await (await fetch(`${address}&format=json`)).json()) as {
    spend: { title: string; notes: string[] };
  };
  expect([spend.title, spend.notes]).toEqual([
    'Spend of October 2026 against September 2026, by ship date (incomplete)',
    [incomplete],
  ]);
  const page = await (await fetch(address)).text();
  expect(page).toContain('C-1 of Acme (needs attention, 0.00 USD) and 1 more.');
  expect(page).toContain('% (incomplete)');
});
