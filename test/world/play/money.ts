/** What is claimed from carriers and stated to tenants: sums of lines that reports find and count. */

import type { FINDINGS } from '../../../finance/disputes/finding-kinds.ts';
import { findLines } from '../../../finance/disputes/findings.ts';
import { makeStatements } from '../../../finance/statements/make-statements.ts';
import type { ReportResult } from '../../../reports/report-result.ts';
import type { Question } from '../history.ts';
import { money, parsed, sum } from '../model/exact.ts';
import { tenants } from '../model/reports/spend.ts';
import { viewsOf } from '../model/view.ts';
import { Difference, type Played } from './fast.ts';

/** By the report: the column whose sum is claimed. */
const CLAIMED: Readonly<Record<string, string>> = {
  duplicates: 'money_at_risk',
  outliers: 'difference',
  'rate-variance': 'overcharged_cost',
  'dimensional-weight': 'difference',
  'late-billed': 'billing_cost',
};

function expectSame(what: string, expected: readonly string[], found: readonly string[]): void {
  const [wanted, had] = [expected.toSorted().join('\n  '), found.toSorted().join('\n  ')];
  if (wanted !== had) throw new Difference(`${what}:\n  ${had}\nexpected\n  ${wanted}`);
}

/** Lines are claimed once, and by currency as much as the report found. */
export async function compareClaims(
  { report, parameters }: Question,
  result: ReportResult,
  sources: { readonly databasePath: string; readonly tables: Readonly<Record<string, string>> },
): Promise<void> {
  const column = CLAIMED[report];
  if (column === undefined) return;
  const finding = report as keyof typeof FINDINGS;
  const { lines } = await findLines({
    ...{ ...sources, finding, parameters, rows: null, trackingNumbers: null, timeLimitMs: 600_000 },
  });
  const places = lines.map(({ invoice_id, row_number }) => `${invoice_id}:${row_number}`);
  expectSame(`lines claimed by ${report}`, [...new Set(places)], places);
  const sums = (of: readonly (readonly [currency: unknown, amount: bigint])[]): string[] =>
    [...Map.groupBy(of, ([currency]) => String(currency))].map(
      ([currency, each]) => `${currency} ${money(sum(each.map(([, amount]) => amount)))}`,
    );
  const amounts = result.rows.map((row) => [row.currency_code, parsed(String(row[column] ?? 0))] as const);
  expectSame(
    `claims of ${report} ${JSON.stringify(parameters)}`,
    sums(amounts.filter(([, amount]) => amount > 0n)),
    sums(lines.map(({ currency_code, claimed }) => [currency_code, parsed(claimed)])),
  );
}

/** Drafts of a month state what the report of tenants counts. */
export async function compareStatements({ path, world, test, publishedAt }: Played): Promise<void> {
  const period = '2026-01';
  const days = { from: '2026-01-01', to: '2026-01-31', level: 'tenant' as const };
  const expected = (viewsOf({ world, publishedAt }, days) ?? []).flatMap((view) =>
    tenants(view, {}, {}).map(({ cells }) =>
      [cells.tenant, view.partnerId, cells.currency_code, cells.shipments, cells.billing_cost].join(' '),
    ),
  );
  const found: string[] = [];
  await makeStatements(
    { databasePath: path, dataDir: test.dataDir, timeLimitMs: 600_000, now: new Date(publishedAt) },
    { tenants: [], partners: [], period, isFinal: false, withShipments: false },
    async ({ statement: { tenant, partner_id, totals } }) => {
      for (const { currency_code, lines, billed } of totals)
        if (lines > 0) found.push([tenant, partner_id, currency_code, lines, billed].join(' '));
    },
  );
  expectSame(`statements of ${period}`, expected, found);
}
