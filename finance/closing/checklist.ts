import { sumOfAmounts } from '../../lib/decimal.ts';
import type { ReportCell } from '../../reports/cells.ts';
import { isReportError } from '../../reports/errors.ts';
import { openGaps } from '../../reports/gap-answers.ts';
import { differencesOf } from '../../reports/invoices/invoice-questions.ts';
import { type Period, parsePeriod } from '../../reports/period.ts';
import { amountText } from '../../reports/render/labels.ts';
import type { DateBasis } from '../../reports/report-filters.ts';
import { runReport } from '../../reports/report-session.ts';
import { RISKS } from '../disputes/at-risk.ts';
import type { Disputes } from '../disputes/disputes.ts';
import { resultWithinPatience } from '../disputes/pages/at-risk-pages.ts';
import { type BilledSession, openBilledSession } from '../statements/billed.ts';
import { listStatements } from '../statements/list-statements.ts';
import { cellOf, leftOut, orNull, proofText, totalsOf } from '../statements/statement.ts';
import { type MonthEntry, readMonths } from './month-journal.ts';
import { type Restated, restatedAfterClosing } from './restated.ts';

export interface ClosingSources {
  readonly dataDir: string;
  readonly databasePath: string;
  readonly timeLimitMs: number;
  readonly now: () => Date;
  readonly disputes: Pick<Disputes, 'atRisk'>;
}

export interface OpenPoint {
  readonly name: string;
  readonly text: string;
  readonly address: string;
}

export interface ChecklistItem {
  readonly title: string;
  /** The page that handles all points of the item. */
  readonly address: string;
  readonly open: readonly OpenPoint[];
}

export interface Checklist {
  readonly period: string;
  readonly by: DateBasis;
  readonly items: readonly ChecklistItem[];
  readonly totals: readonly {
    readonly partner_id: string | null;
    readonly currency_code: string;
    readonly lines: number;
    readonly billed: string;
  }[];
  readonly publication: number;
  readonly publishedAt: string;
  /** Invoices that changed the totals of earlier months after these were closed. */
  readonly restated: readonly Restated[];
  readonly entries: readonly MonthEntry[];
}

export const BEING_READ = {
  name: 'Findings',
  text: 'being read; this page shows them as soon as they are there',
};
const PROVEN: readonly unknown[] = ['hash', 'header'];

/** Every point comes from what is published now. @throws ReportError; StatementError; MonthError */
export async function checklistOf(
  sources: ClosingSources,
  { period, by, waits = true }: { readonly period: string; readonly by: DateBasis; readonly waits?: boolean },
): Promise<Checklist> {
  const days = parsePeriod(period);
  const { dataDir, databasePath, timeLimitMs, disputes, now } = sources;
  const session = await openBilledSession({ databasePath, timeLimitMs, tenants: [], partners: [], by });
  const { billed, statements } = await Promise.resolve()
    .then(async () => ({
      billed: await billedIn(session, days),
      // A partner without tenants has no statements, because they are sent to tenants.
      statements:
        session.level === 'partner'
          ? { listed: [], problem: null }
          : await listStatements({ dataDir, databasePath, timeLimitMs, now: now(), session }, { period, by }),
    }))
    .finally(() => session.close());
  const entries = await readMonths(dataDir);
  const gaps = await runReport({ databasePath, timeLimitMs, name: 'gaps', filters: { ...days, by } });
  const unanswered = await openGaps(dataDir, gaps.rows);
  const ofMonth = `from=${days.from}&to=${days.to}&by=${by}`;
  const isExported = entries.some((entry) => entry.kind === 'exported' && entry.period === period);
  const items: readonly ChecklistItem[] = [
    { title: 'Invoices in', address: '/invoices?state=draft&state=needs_attention', open: billed.missing },
    {
      ...{ title: 'Gaps answered', address: `/reports/gaps?${ofMonth}` },
      open: unanswered.map(({ tenant, finding }) => ({
        ...{ name: String(tenant), text: String(finding) },
        address: `/reports/gaps?${ofMonth}`,
      })),
    },
    { title: 'Files proven', address: `/reports/proof?${ofMonth}`, open: billed.unproven },
    {
      title: 'Findings handled',
      address: `/money-at-risk?${ofMonth}`,
      open: await findingsIn(disputes, { ...days, by }, waits),
    },
    {
      ...{ title: 'Statements sent', address: `/statements?period=${period}&by=${by}` },
      open: [
        ...(statements.problem === null
          ? []
          : [{ name: 'Statements', text: statements.problem, address: '/statements' }]),
        ...statements.listed
          .filter(({ state }) => state !== 'sent' && state !== 'corrected')
          .map(({ statement, state }) => ({
            ...{ name: statement.tenant, text: state },
            address: `/statements?${new URLSearchParams({ tenant: statement.tenant_id ?? statement.tenant, period, by })}`,
          })),
      ],
    },
    {
      ...{ title: 'Reports exported', address: '#export' },
      open: isExported ? [] : [{ name: 'Reports', text: 'not exported yet', address: '#export' }],
    },
  ];
  const restated = await restatedAfterClosing(databasePath, entries, period);
  return { period, by, items, ...billed.head, restated, entries };
}

async function billedIn(session: BilledSession, days: Period) {
  const ofPartners = Map.groupBy(await session.read('billed', days), (row) => orNull(row.partner_id));
  const invoices = await session.read('invoices', days);
  const notCounted = (await session.read('not-counted', days)).map(leftOut);
  const numbered = (row: { invoice_id?: unknown; invoice_number?: unknown }, text: string): OpenPoint => ({
    ...{ name: String(row.invoice_number ?? row.invoice_id), text },
    address: `/invoices/${row.invoice_id}`,
  });
  return {
    missing: notCounted.filter(({ is_void }) => !is_void).map((row) => numbered(row, row.state)),
    unproven: invoices
      .map((row) => ({ row, rules: differencesOf(withoutDates(row.discrepancy_rules)) }))
      .filter(({ row, rules }) => !PROVEN.includes(row.proof) || rules.length > 0)
      .map(({ row, rules }) =>
        numbered(
          row,
          rules.length > 0 ? `its file differs in ${rules.join(', ')}` : `proved by ${proofText(row.proof)}`,
        ),
      ),
    head: {
      totals: [...ofPartners.keys()].toSorted().flatMap((partner_id) =>
        totalsOf((ofPartners.get(partner_id) ?? []).map(cellOf), []).map(
          ({ currency_code, lines, billed }) => ({
            ...{ partner_id, currency_code, lines, billed },
          }),
        ),
      ),
      ...{ publication: session.publication, publishedAt: session.publishedAt },
    },
  };
}

/** Contradictions of dates are left out, because late charges have them too. */
function withoutDates(rules: ReportCell | undefined): string {
  return String(rules ?? '').replace(/\bperiod(, |$)/, '');
}

/** @param waits false: findings that are not there at once are an open point */
async function findingsIn(
  disputes: ClosingSources['disputes'],
  { from, to, by }: Period & { readonly by: DateBasis },
  waits: boolean,
): Promise<readonly OpenPoint[]> {
  const address = `/money-at-risk?from=${from}&to=${to}&by=${by}`;
  try {
    const finding = disputes.atRisk({ from, to, by });
    const found = waits ? await finding : await resultWithinPatience(finding);
    if (found === null) return [{ ...BEING_READ, address }];
    const { lines, unchecked } = found;
    const fresh = [
      ...Map.groupBy(
        lines.filter(({ state }) => state === 'new'),
        ({ risk, currency_code }) => `${risk} ${currency_code}`,
      ).values(),
    ];
    return [
      ...fresh.map((of) => ({
        name: RISKS[of[0]?.risk ?? 'outliers'],
        text: `${of.length} ${of.length === 1 ? 'line' : 'lines'}, ${amountOf(of)}`,
        address: `${address}&risk=${of[0]?.risk}`,
      })),
      ...unchecked.map((risk) => ({ name: RISKS[risk], text: 'not checked', address })),
    ];
  } catch (error) {
    if (!isReportError(error, 'interrupted')) throw error;
    return [{ name: 'Findings', text: 'could not be checked in time', address }];
  }
}

function amountOf(lines: readonly { readonly claimed: string; readonly currency_code: string }[]): string {
  const currency = lines[0]?.currency_code ?? '';
  return `${amountText(sumOfAmounts(lines.map(({ claimed }) => claimed)), currency)} ${currency}`;
}
