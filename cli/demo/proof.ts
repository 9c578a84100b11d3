/** Confronts the reports with what the service billed, cell by cell, as text: one digit off and the demo fails. */

import type { ReportResult } from '../../reports/report-result.ts';
import { runReport } from '../../reports/run-report.ts';
import type { BilledRow } from '../../sandbox/service.ts';
import { type BilledKey, type BilledTotal, billedByCurrency, totalsOf } from './billed.ts';

export interface ProvedReport {
  readonly name: string;
  readonly level: BilledRow['level'];
  readonly report: ReportResult;
  readonly rows: number;
  readonly cells: number;
  /** Sentences: what the report says, what was billed. */
  readonly differences: readonly string[];
  readonly billed: ReadonlyMap<string, string>;
}

const REPORTS: readonly {
  readonly name: string;
  readonly by: BilledKey;
  readonly level: BilledRow['level'];
}[] = [
  { name: 'tenants', by: 'tenant', level: 'tenant' },
  { name: 'carriers', by: 'carrier', level: 'tenant' },
  { name: 'zones', by: 'carrier_zone', level: 'tenant' },
  { name: 'tenants', by: 'tenant', level: 'partner' },
];

const CELLS = [
  'invoices',
  'shipments',
  'billing_cost',
  'cost_per_shipment',
  'billable_weight_lb',
  'cost_per_lb',
  'packages',
] as const;

export async function proveReports(
  databasePath: string,
  billed: readonly BilledRow[],
): Promise<readonly ProvedReport[]> {
  const proved: ProvedReport[] = [];
  for (const { name, by, level } of REPORTS) {
    const report = await runReport({ databasePath, name, filters: { level } });
    const totals = totalsOf(billed, { by, level });
    const differences = compare(report, by, totals);
    proved.push({
      name,
      level,
      report,
      rows: totals.length,
      cells: totals.length * CELLS.length,
      differences,
      billed: billedByCurrency(totals),
    });
  }
  return proved;
}

function compare(report: ReportResult, by: BilledKey, totals: readonly BilledTotal[]): readonly string[] {
  const differences: string[] = [];
  const expected = new Map(totals.map((total) => [groupOf(total.key, total.currency_code), total]));
  for (const row of report.rows) {
    const group = groupOf(row[by], row.currency_code);
    const total = expected.get(group);
    expected.delete(group);
    if (total === undefined) {
      differences.push(`${group}: the report has a row that was never billed`);
      continue;
    }
    for (const cell of CELLS) {
      const reported = row[cell] === null || row[cell] === undefined ? null : String(row[cell]);
      if (reported !== total[cell])
        differences.push(`${group} ${cell}: reported ${reported}, billed ${total[cell]}`);
    }
  }
  for (const group of expected.keys()) differences.push(`${group}: billed, and missing from the report`);
  return differences;
}

function groupOf(key: unknown, currency: unknown): string {
  return JSON.stringify([key ?? null, currency]);
}
