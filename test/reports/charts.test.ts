/** What charts show is what the rows say: one place, one value; amounts added exactly, currencies never. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.js';
import { pointsOf } from '../../reports/render/chart-points.js';
import { drawCharts } from '../../reports/render/chart-svg.js';
import { runReport } from '../../reports/run-report.js';
import {
  decimalText,
  type ReportsFixture,
  reportsFixture,
  tenThousandths,
} from '../support/reports-fixture.js';
import { seededInvoices } from '../support/seeded-invoices.js';

const reports = await listReports();
let fixture: ReportsFixture;

beforeAll(async () => {
  fixture = await reportsFixture(seededInvoices(31, 50));
});
afterAll(() => fixture.remove());

describe('every chart', () => {
  test.each(reports.filter((report) => report.charts.length > 0).map((report) => report.name))(
    '%s puts no two values in one place',
    async (name) => {
      const result = await runReport({ databasePath: fixture.path, name });
      for (const spec of result.charts) {
        for (const currency of new Set(result.rows.map((row) => row.currency_code))) {
          const rows = result.rows.filter((row) => row.currency_code === currency);
          const points = pointsOf(spec, rows);
          const values = new Set(
            rows.map((row) =>
              JSON.stringify(
                [...Object.entries(spec.roles)]
                  .filter(([role]) => role !== 'combine')
                  .map(([, names]) => names.split('+').map((each) => row[each])),
              ),
            ),
          );
          if (spec.roles.combine === undefined) expect(points).toHaveLength(values.size);
          else {
            const sum = (list: readonly (string | null)[]): string =>
              decimalText(list.reduce((total, value) => total + tenThousandths(value ?? '0'), 0n));
            const value = spec.roles.value ?? '';
            expect(sum(points.map((point) => point.value))).toBe(sum(rows.map((row) => String(row[value]))));
          }
        }
      }
    },
  );

  test('is drawn for each currency by itself, named, with its unit, without anything that a strict page refuses', async () => {
    const result = await runReport({ databasePath: fixture.path, name: 'carriers' });
    const charts = drawCharts(result);
    expect(charts.map((chart) => chart.title)).toEqual([
      'Billing cost in EUR by carrier',
      'Billing cost in USD by carrier',
    ]);
    for (const { svg, description } of charts) {
      expect(svg).not.toMatch(/style=|class=|<style|<script|href=/);
      expect(svg).toContain('role="img"');
      expect(description).toMatch(/The largest is .+ with [\d,]+\.\d{4} (EUR|USD)\./);
    }
  });
});
