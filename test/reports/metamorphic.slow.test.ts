import { afterAll, describe, expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.ts';
import type { ReportRow } from '../../reports/cells.ts';
import type { ReportFilters } from '../../reports/report-filters.ts';
import { withAllThreads } from '../support/processes/one-duckdb-thread.ts';
import { reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';

const invoices = seededInvoices(23, 40);

// After the last invoice, so that months are closed.
const published = { publishedAt: '2026-10-01T00:00:00Z' };
const fixture = await reportsFixture(invoices, published);
afterAll(() => fixture.remove());

/** @param named a report and its groups: `cost by=weight` */
async function runWith(
  named: string,
  filters: ReportFilters = {},
  of = fixture,
): Promise<readonly ReportRow[]> {
  const [name, parameters] = splitName(named);
  return (await of.run(name, filters, parameters)).rows;
}

function splitName(named: string): readonly [string, Readonly<Record<string, string>>] {
  const [name = '', by] = named.split(' by=');
  return [name, by === undefined ? {} : { by }];
}

const answers = new Map<string, Promise<readonly ReportRow[]>>();

/** Without filters, run once for all comparisons. */
function answered(name: string): Promise<readonly ReportRow[]> {
  const rows = answers.get(name) ?? runWith(name);
  answers.set(name, rows);
  return rows;
}

describe('a filter by date', () => {
  // The first day of a month, or of a week, so that it cuts none.
  test.each([
    ['mix', '2026-03-01'],
    ['accrual', '2026-03-01'],
    ['rolling-spend', '2026-03-02'],
  ])('leaves the rows of %s from %s as they are, since earlier months are compared', async (name, from) => {
    const dayOf = (row: ReportRow) => String(row.starts_on ?? row.month ?? row.ship_month);
    const expected = (await answered(name)).filter((row) => dayOf(row) >= from.slice(0, dayOf(row).length));
    expect(expected.length).toBeGreaterThan(0);
    expect(await runWith(name, { from })).toEqual(expected);
  });
});

describe('order', () => {
  test('returns the same rows for every loading order', async () => {
    const names = listReports().map(({ name }) => name);
    const expected = await Promise.all(names.map(answered));
    // Nor must the order of rows come from the order in which threads end: one answers here, all of them there.
    await withAllThreads(async () => {
      const shuffled = await reportsFixture([...invoices].reverse(), published);
      for (const [place, name] of names.entries())
        expect(await runWith(name, {}, shuffled), name).toEqual(expected[place]);
      await shuffled.remove();
    });
  });
});
