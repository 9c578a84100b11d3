import { afterAll, expect, test } from 'vitest';
import { fromTenThousandths, toTenThousandths } from '../../lib/decimal.ts';
import { listReports } from '../../reports/catalogue.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { answerOf } from '../../reports/render/answer.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { answerColumn } from '../../reports/render/table-order.ts';
import { runReport } from '../../reports/report-session.ts';
import { denseInvoices } from '../support/dense-invoices.ts';
import { reportsFixture } from '../support/reports-fixture.ts';

const invoices = denseInvoices(11, 24);
const fixture = await reportsFixture([
  ...invoices.map((invoice) => ({ ...invoice, partnerId: 'p-1' })),
  ...denseInvoices(12, 24).map((invoice) => ({ ...invoice, partnerId: 'p-2' })),
]);
afterAll(() => fixture.remove());

const FINDING: Readonly<Record<string, string>> = {
  ...{ days: '20', threshold: '1', min_percent: '1', min_amount: '0.0001' },
  ...{ times: '1', min_lb: '0', min_shipments: '2' },
};

const limited = listReports().filter(({ parameters }) => parameters.some(({ name }) => name === 'limit'));

test.each(limited.map((report) => [report.name, report] as const))(
  '%s lists the first rows of each currency, and totals all of them',
  async (name, { parameters }) => {
    const found = parameters.flatMap((each) => (FINDING[each.name] ? [[each.name, FINDING[each.name]]] : []));
    const run = (limit: string) =>
      runReport({ databasePath: fixture.path, name, parameters: { ...Object.fromEntries(found), limit } });
    const all = await run('100000');
    const some = await run('2');
    const groupOf = (row: ReportRow): string => `${row.partner_id} ${row.currency_code}`;
    const groups = [...Map.groupBy(all.rows, groupOf)];
    expect(groups.length).toBeGreaterThan(2);
    expect(all.rows.length).toBeGreaterThan(8);
    expect(some.rows).toEqual(groups.flatMap(([, rows]) => rows.slice(0, 2)));
    expect([some.head.rows, some.head.found]).toEqual([some.rows.length, all.rows.length]);
    const [column = ''] = answerColumn(name);
    const sentence = answerOf(some).sentence;
    for (const [, rows] of groups) {
      const sum = rows.reduce((total, row) => total + toTenThousandths(String(row[column] ?? 0)), 0n);
      expect(sentence).toContain(`title="${fromTenThousandths(sum)}"`);
    }
    const { body } = await renderReport(some, 'html');
    expect(body).toContain(`The first ${some.rows.length} of ${all.rows.length} rows`);
  },
);
