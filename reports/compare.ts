import { dividedHalfAway, fromTenThousandths, toTenThousandths } from '../lib/decimal.ts';
import { findReport, type ReportDefinition } from './catalogue.ts';
import { moneyColumn, type ReportCell, type ReportColumn, type ReportRow, reportColumn } from './cells.ts';
import { comparedDaysOf, markIncomplete, notCountedNotes } from './completeness.ts';
import { invalidFilter } from './errors.ts';
import { comparedPeriod, type Period, periodBounds, periodText } from './period.ts';
import { byPartnerAndCurrency, pivoted } from './pivot.ts';
import type { ReportFilters } from './report-filters.ts';
import type { ReportResult } from './report-result.ts';
import { type ReportRequest, runReport } from './report-session.ts';

const TIMES = ['month', 'week', 'ship_month', 'carrier_invoice_date'];
const SIDES = ['billing_cost', 'shipments', 'cost_per_shipment'] as const;

/** Whether rows of the report can be compared with those of another period. */
export function isComparable({
  drilldowns: [drilldown],
  groupColumns,
  parameters,
}: Pick<ReportDefinition, 'drilldowns' | 'groupColumns' | 'parameters'>): boolean {
  if (drilldown === undefined || Object.keys(drilldown.fixed).length > 0) return false;
  // A report with `by` may group by other columns than time, one with `grain` always groups by it.
  const isTimed = drilldown.by.some(
    ({ column }) =>
      TIMES.includes(column) &&
      (groupColumns[column] === undefined || parameters.some(({ name }) => name === 'grain')),
  );
  return !isTimed && SIDES.every((column) => Object.hasOwn(drilldown.exact, column));
}

/** @throws ReportError the report has no costs to compare, or is grouped by time */
export function compareResults(
  report: ReportDefinition,
  {
    now,
    before,
    with: period,
  }: { readonly now: ReportResult; readonly before: ReportResult; readonly with: Period },
): ReportResult {
  const names = (report.drilldowns[0]?.by ?? []).map(({ column }) => column);
  const keys = now.columns.filter(({ name }) => names.includes(name) || name === 'partner_id');
  if (!isComparable(report) || keys.some(({ name }) => TIMES.includes(name))) {
    throw invalidFilter(
      `${report.name} cannot be compared with another period so: take tenants, carriers, zones, services, or cost by anything but month and week.`,
    );
  }
  const keyOf = (row: ReportRow): string => JSON.stringify(keys.map(({ name }) => row[name] ?? null));
  const other = new Map(before.rows.map((row) => [keyOf(row), row]));
  const here = new Set(now.rows.map(keyOf));
  const rows = [
    ...now.rows.map((row) => comparedRow(keys, row, other.get(keyOf(row)))),
    ...before.rows.filter((row) => !here.has(keyOf(row))).map((row) => comparedRow(keys, undefined, row)),
  ].sort(byDifference);
  const label = periodText(period);
  const chosen = keys.filter(({ name }) => !['currency_code', 'tenant_id', 'partner_id'].includes(name));
  const key = chosen.map(({ name }) => name).join('+');
  const plainNotes = notCountedNotes(now.head.completeness);
  const result: ReportResult = {
    ...now,
    means: `${now.means} Columns that end in _before are of the period that is compared with. difference is billing_cost less billing_cost_before, change_percent what it is of billing_cost_before; of nothing, or of less, there is no percentage.`,
    order: 'currency; greatest difference first, whatever its sign',
    charts: [{ kind: 'bar', roles: { key, value: 'difference' } }],
    columns: columnsOf(keys),
    rows,
    head: {
      ...now.head,
      ...{ rows: rows.length, found: rows.length },
      parameters: { ...now.head.parameters, compare: label },
      notes: [
        `Compared with ${label}, of which ${before.head.shipments} shipments are counted.`,
        ...now.head.notes.filter((note) => !plainNotes.includes(note)),
      ],
    },
  };
  return markIncomplete(result, [
    comparedDaysOf(now.head.filters, now.head.completeness),
    comparedDaysOf(period, before.head.completeness),
  ]);
}

function comparedRow(
  keys: readonly ReportColumn[],
  now: ReportRow | undefined,
  before: ReportRow | undefined,
): ReportRow {
  const row: Record<string, ReportCell> = {};
  for (const { name } of keys) row[name] = (now ?? before)?.[name] ?? null;
  const [cost, costBefore] = [amountOf(now), amountOf(before)];
  row.billing_cost = fromTenThousandths(cost);
  row.billing_cost_before = fromTenThousandths(costBefore);
  row.difference = fromTenThousandths(cost - costBefore);
  row.change_percent = percentOf(cost - costBefore, costBefore);
  for (const [side, suffix] of [
    [now, ''],
    [before, '_before'],
  ] as const) {
    row[`shipments${suffix}`] = side?.shipments ?? 0;
    row[`cost_per_shipment${suffix}`] = side?.cost_per_shipment ?? null;
  }
  return row;
}

function amountOf(row: ReportRow | undefined): bigint {
  return toTenThousandths(String(row?.billing_cost ?? '0'));
}

/** The percentage with two decimals, rounded half away from zero; null when the whole is not above zero. */
export function percentOf(part: bigint, whole: bigint): string | null {
  if (whole <= 0n) return null;
  const hundredths = dividedHalfAway(part * 10_000n, whole);
  const digits = String(hundredths < 0n ? -hundredths : hundredths).padStart(3, '0');
  return `${hundredths < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function byDifference(one: ReportRow, other: ReportRow): number {
  const first = byPartnerAndCurrency(one, other);
  if (first !== 0) return first;
  const size = ({ difference }: ReportRow): bigint => toTenThousandths(String(difference).replace('-', ''));
  return size(other) > size(one) ? 1 : size(other) < size(one) ? -1 : 0;
}

function columnsOf(keys: readonly ReportColumn[]): readonly ReportColumn[] {
  const partner = keys.filter(({ name }) => name === 'partner_id');
  return [
    ...keys.filter(({ name }) => name !== 'partner_id'),
    ...['billing_cost', 'billing_cost_before', 'difference'].map((name) => moneyColumn(name)),
    reportColumn('change_percent', 'decimal', { scale: 2, unit: '%' }),
    ...['shipments', 'shipments_before'].map((name) => reportColumn(name, 'count')),
    ...['cost_per_shipment', 'cost_per_shipment_before'].map((name) => moneyColumn(name)),
    ...partner,
  ];
}

export interface Compared {
  readonly filters: ReportFilters;
  readonly parameters: Readonly<Record<string, string>>;
  readonly compare: string | undefined;
}

/**
 * @param more.pivot the column whose values become columns @throws ReportError as `runReport`, or the
 * comparison or pivot is invalid
 */
export async function runCompared(
  request: ReportRequest,
  { compare, pivot }: { readonly compare?: string | undefined; readonly pivot?: string | undefined },
): Promise<ReportResult> {
  const { name, filters = {}, parameters = {} } = request;
  const report = findReport(name);
  const run: Run = (of) => runReport({ ...request, ...of });
  const result = await runWithComparison(run, report, { filters, parameters, compare });
  return pivot === undefined ? result : pivoted(report, result, pivot).result;
}

type Run = (of: Pick<Compared, 'filters' | 'parameters'>) => Promise<ReportResult>;

/** @throws ReportError as `run`, or the comparison is invalid */
export async function runWithComparison(
  run: Run,
  report: ReportDefinition,
  { filters, parameters, compare }: Compared,
): Promise<ReportResult> {
  if (compare === undefined) return run({ filters, parameters });
  const before = comparedPeriod(compare, filters);
  const { period: _, ...others } = filters;
  if (takesTwoPeriods(report)) {
    const { from, to } = periodBounds(filters);
    return run({
      filters: { ...others, from: undefined, to: undefined },
      parameters: {
        ...parameters,
        ...{ first_from: before.from, first_to: before.to },
        ...(from === null ? {} : { second_from: from }),
        ...(to === null ? {} : { second_to: to }),
      },
    });
  }
  const now = await run({ filters, parameters });
  const earlier = await run({ filters: { ...others, ...before }, parameters });
  return compareResults(report, { now, before: earlier, with: before });
}

export function takesTwoPeriods({ parameters }: Pick<ReportDefinition, 'parameters'>): boolean {
  return ['first_from', 'first_to', 'second_from', 'second_to'].every((name) =>
    parameters.some((parameter) => parameter.name === name && parameter.type === 'date'),
  );
}
