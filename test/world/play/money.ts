/** What is claimed from carriers and stated to tenants: sums of lines that reports find and count. */

import type { ClosedMonth } from '../../../finance/closing/month-journal.ts';
import { restatedAfterClosing, restatedSums } from '../../../finance/closing/restated.ts';
import type { FINDINGS } from '../../../finance/disputes/finding-kinds.ts';
import { findLines } from '../../../finance/disputes/findings.ts';
import { makeStatements } from '../../../finance/statements/make-statements.ts';
import type { ReportResult } from '../../../reports/report-result.ts';
import type { Filters, Question } from '../history.ts';
import { groups, money, parsed, sum } from '../model/exact.ts';
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
  // The limit of a report is of its rows, that of claims is of lines.
  if (column === undefined || parameters.limit !== undefined) return;
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
    { tenants: [], partners: [], period, isFinal: false, withShipments: true },
    async ({ statement: { tenant, partner_id, totals, invoices }, shipments }) => {
      for (const { currency_code: currency, lines, billed } of totals.filter((each) => each.lines > 0)) {
        found.push([tenant, partner_id, currency, lines, billed].join(' '));
        const own = (shipments?.rows ?? []).filter((row) => row.currency_code === currency);
        const [ofLines, ofInvoices] = [
          own.map((row) => String(row.billing_cost)),
          invoices.filter((each) => each.currency_code === currency).map(({ amount }) => amount),
        ].map((amounts) => money(sum(amounts.map(parsed))));
        expectSame(`lines and invoices of ${tenant} in ${currency}`, [lines, billed, billed].map(String), [
          ...[String(own.length), String(ofLines), String(ofInvoices)],
        ]);
      }
    },
  );
  expectSame(`statements of ${period}`, expected, found);
}

/**
 * A month was sent and closed when it was published first: what is sent afterwards corrects it to what is billed now, and what changed
 * is named.
 */
export async function compareWithEarlier({ path, world, test, earlier, publishedAt }: Played): Promise<void> {
  const [first] = earlier;
  if (first === undefined || first.path === null) return;
  const all = viewsOf({ world, publishedAt }, {}) ?? [];
  const sums = (filters: Filters): Map<string, bigint> => {
    const views = viewsOf({ world, publishedAt }, filters);
    const lines = (views ?? []).flatMap((view) => view.lines);
    return new Map(
      groups(lines, ({ currency }) => [currency]).map((of) => [
        of[0]?.currency ?? '',
        sum(of.map(({ cost }) => cost)),
      ]),
    );
  };
  const textsOf = (totals: ReadonlyMap<string, bigint>): string[] =>
    [...totals].filter(([, total]) => total !== 0n).map(([currency, total]) => `${currency} ${money(total)}`);
  const january = { from: '2026-01-01', to: '2026-01-31' };

  const closed = {
    kind: 'closed',
    period: '2026-01',
    date_basis: 'ship-date',
    published_at: first.at,
  } as ClosedMonth;
  // A partner without tenants closes a month with its own invoices.
  const level = all[0]?.ofLevel('partner') === true ? 'partner' : 'tenant';
  const changed = sums({ ...january, level });
  for (const [currency, total] of sums({ ...january, level, asKnownOn: first.at }))
    changed.set(currency, (changed.get(currency) ?? 0n) - total);
  const restated = restatedSums(await restatedAfterClosing(path, [closed], null));
  const ofPartners = new Map<string, bigint>();
  for (const { currency_code: currency, difference } of restated)
    ofPartners.set(currency, (ofPartners.get(currency) ?? 0n) + parsed(difference));
  expectSame('changes of a closed month', textsOf(changed), textsOf(ofPartners));

  // Statements of a tenant whose partner is not known are refused while there are several.
  if (all.length > 1 && world.invoices().some(({ partnerId }) => partnerId === null)) return;
  const sent = new Map<string, bigint>();
  // In either order of the months.
  const months = earlier.length === 1 ? ['2026-02', '2026-01'] : ['2026-01', '2026-02'];
  for (const [period = '', databasePath] of [
    [months[0], first.path],
    [months[1], path],
  ] as const)
    await makeStatements(
      { databasePath, dataDir: test.dataDir, timeLimitMs: 600_000, now: new Date('2099-01-01') },
      {
        ...{ tenants: [], partners: [], period, isFinal: true, withShipments: false },
        acceptIncomplete: 'drawn',
      },
      async ({ statement: { totals } }) => {
        for (const { currency_code: currency, total } of totals)
          sent.set(currency, (sent.get(currency) ?? 0n) + parsed(total));
      },
    );
  expectSame(
    'sum of two sent months',
    textsOf(sums({ ...january, to: '2026-02-28', level: 'tenant' })),
    textsOf(sent),
  );
}
