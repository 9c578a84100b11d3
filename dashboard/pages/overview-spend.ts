import { sumOfAmounts, toTenThousandths } from '../../lib/decimal.ts';
import { findReport } from '../../reports/catalogue.ts';
import type { ReportCell, ReportColumn, ReportRow } from '../../reports/cells.ts';
import { compareResults, percentOf } from '../../reports/compare.ts';
import { comparedDaysOf, comparisonNotes, incompleteLabel } from '../../reports/completeness.ts';
import { comparedPeriod, daysName, type Period, parsePeriod, periodBounds } from '../../reports/period.ts';
import type { LeadTo } from '../../reports/render/html-page.ts';
import { displayCell, grouped } from '../../reports/render/labels.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import type { ReportSession } from '../../reports/report-session.ts';
import { filtersIn, filtersOf, lastValue, type Query, withQuery } from '../address.ts';
import { leadingTo } from '../drill-down.ts';
import { type PageContext, withReports } from '../page-context.ts';
import { count } from '../views.ts';
import { currenciesOf } from './report-body.ts';

export const USUAL_COMPARISON = 'previous';
const MAX_MOVERS = 5;
const MAX_COMPARED = 20_000;
const MOVERS = [
  { label: 'Tenants', report: 'tenants', keys: ['tenant'] },
  { label: 'Carriers', report: 'carriers', keys: ['carrier'] },
  { label: 'Lanes (origin and zone)', report: 'cost', keys: ['origin', 'zone'], by: 'origin+zone' },
] as const;
const COLUMNS = ['billing_cost', 'billing_cost_before', 'difference', 'change_percent'];
const MEASURES = [
  ['Spend', 'billing_cost'],
  ['Cost per package', 'cost_per_shipment'],
  ['Cost per lb', 'cost_per_lb'],
] as const;
const MAX_MONTHS = 12;

/** @param months rows of `summary`; null is returned when they and the address determine no period */
export async function spendOf(context: PageContext, query: Query, months: readonly ReportRow[]) {
  const days = periodOfPage(query, months, new Date());
  if (days === null) return null;
  const { from, to } = days;
  const compare = lastValue(query, 'compare') ?? USUAL_COMPARISON;
  const before = comparedPeriod(compare, days);
  const filters = { ...filtersOf(query), from, to, period: undefined };
  const { by } = checkFilters(filters);
  const answersIn = (period: Period) =>
    withReports(context, { ...filters, ...period }, answersOf, { maxRows: MAX_COMPARED });
  const [now, then] = await Promise.all([answersIn(days), answersIn(before)]);
  const { names, chosen } = currenciesOf(now.totals.rows.length > 0 ? now.totals : then.totals, query);
  const currency = lastValue(query, 'currency') ?? chosen ?? names[0] ?? null;
  const kept = { ...filtersIn(query), from, to, period: [] };
  const compared = withQuery('', kept, { compare, currency });
  const tooMany: string[] = [];
  const movers = await Promise.all(
    MOVERS.flatMap((mover, at) => {
      const [one, other] = [now.reports[at], then.reports[at]];
      if (one === undefined || other === undefined) throw new Error(`No result of ${mover.report}.`);
      // Without all rows there is no comparison, because a row that a limit leaves out would count as nothing.
      const found = Math.max(
        ...[one, other].filter(({ head, rows }) => head.found > rows.length).map(({ head }) => head.found),
      );
      if (found > 0) tooMany.push(`${mover.label}: ${count(found)} are too many to be compared here.`);
      return found > 0 ? [] : [{ mover, one, other }];
    }).map(async ({ mover, one, other }) => {
      const report = findReport(mover.report);
      const result = compareResults(report, { now: one, before: other, with: before });
      const parameters = 'by' in mover ? `&p_by=${encodeURIComponent(mover.by)}` : '';
      return {
        ...moversOf(result, currency, mover.keys, leadingTo({ report, result, query: kept, before })),
        ...{ label: mover.label, address: `/reports/${mover.report}${compared}${parameters}` },
      };
    }),
  );
  const periods = [comparedDaysOf(days, now.completeness), comparedDaysOf(before, then.completeness)];
  const incomplete = incompleteLabel(periods);
  const title = `Spend of ${daysName(days)} against ${daysName(before)}, by ${by.replace('-', ' ')}${incomplete === null ? '' : ` (${incomplete})`}`;
  const notes = [...comparisonNotes(periods), ...tooMany];
  return {
    ...{ currency, title, notes, movers, days: daysName(days) },
    others: names
      .filter((name) => name !== currency)
      .map((name) => ({ name, address: withQuery('/', query, { currency: name }) })),
    // Partners are never summed; each has its own tiles.
    tiles: now.totals.rows
      .filter(({ currency_code }) => currency_code === currency)
      .flatMap((row) =>
        MEASURES.map(([label, name]) => ({
          ...tileOf(name, row, {
            ...{ now: now.totals.columns, before: then.totals.rows, months, incomplete },
            stated: name === 'billing_cost' ? now.completeness.stated : {},
          }),
          ...{
            label,
            address:
              name === 'billing_cost'
                ? withQuery('/shipments', kept, { currency })
                : `/reports/carriers${compared}`,
          },
        })),
      ),
    data: {
      ...{ from, to, by, before, currency, title, notes },
      totals: now.totals.rows,
      totals_before: then.totals.rows,
      movers: movers.map(({ label, data }) => ({ what: label, rows: data })),
    },
  };
}

/** The period of the address; without one, the last complete month with lines; without that, the last month. */
function periodOfPage(query: Query, months: readonly ReportRow[], now: Date): Period | null {
  const { from, to } = periodBounds(filtersOf(query), now);
  if (from !== null && to !== null) return { from, to };
  const names = [...new Set(months.map(({ month }) => String(month)))].sort();
  const present = now.toISOString().slice(0, 7);
  const month = names.filter((name) => name < present).at(-1) ?? names.at(-1);
  return month === undefined ? null : parsePeriod(month, now);
}

async function answersOf(session: ReportSession) {
  const totals = await session.totalShipments({});
  const reports: ReportResult[] = [];
  for (const mover of MOVERS)
    reports.push(await session.run(mover.report, 'by' in mover ? { by: mover.by } : {}));
  const [first] = reports;
  if (first === undefined) throw new Error('There are no movers.');
  return { totals, reports, completeness: first.head.completeness };
}

function tileOf(
  name: string,
  row: ReportRow,
  {
    now,
    before,
    months,
    incomplete,
    stated,
  }: {
    readonly now: readonly ReportColumn[];
    readonly before: readonly ReportRow[];
    readonly months: readonly ReportRow[];
    readonly incomplete: string | null;
    readonly stated: Readonly<Record<string, string>>;
  },
) {
  const column = now.find((each) => each.name === name);
  if (column === undefined) throw new Error(`The totals have no ${name}.`);
  const isSame = (other: ReportRow): boolean =>
    other.currency_code === row.currency_code && (other.partner_id ?? null) === (row.partner_id ?? null);
  const former = before.find(isSame);
  const change = changeOf(row[name], former?.[name]);
  const missing = stated[String(row.currency_code)];
  const whole = missing === undefined ? null : sumOfAmounts([String(row[name] ?? '0'), missing]);
  const withMissing = whole === null ? null : changeOf(whole, former?.[name]);
  const line = months
    .filter(isSame)
    .slice(-MAX_MONTHS)
    .map((month) => Number(month[name] ?? 0));
  const max = Math.max(...line);
  return {
    ...{ value: displayCell(row, column).text, exact: displayCell(row, column).exact },
    before: former === undefined ? '' : displayCell(former, column).text,
    change: [
      ...(change === null ? [] : [incomplete === null ? change : `${change} (${incomplete})`]),
      ...(withMissing === null ? [] : [`${withMissing} with invoices that are not counted, as stated`]),
    ].join('; '),
    months: monthsOf(months.filter(isSame).slice(-MAX_MONTHS)),
    points: line
      .map(
        (value, at) =>
          `${(at * 100) / Math.max(1, line.length - 1)},${max > 0 ? 24 - (22 * value) / max : 24}`,
      )
      .join(' '),
  };
}

function monthsOf(rows: readonly ReportRow[]): string {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return '';
  const name = ({ month }: ReportRow): string => daysName(parsePeriod(String(month)));
  return `${name(first)} to ${name(last)}${last.is_open === true ? ' (still open)' : ''}`;
}

function changeOf(now: ReportCell | undefined, before: ReportCell | undefined): string | null {
  if ((now ?? null) === null || (before ?? null) === null) return null;
  const [one, other] = [toTenThousandths(String(now)), toTenThousandths(String(before))];
  const percent = percentOf(one - other, other);
  return percent === null ? null : `${one > other ? '+' : ''}${grouped(percent)} %`;
}

function moversOf(
  { columns, rows }: ReportResult,
  currency: string | null,
  keys: readonly string[],
  leadTo: LeadTo,
) {
  const largest = rows
    .filter(({ currency_code, difference }) => currency_code === currency && sizeOf(difference) !== 0n)
    .slice(0, MAX_MOVERS);
  const kept = columns.filter(({ name }) => keys.includes(name) || COLUMNS.includes(name));
  const max = largest
    .map(({ difference }) => absoluteSize(sizeOf(difference)))
    .reduce((a, b) => (a > b ? a : b), 1n);
  const text = (row: ReportRow, name: string): string => {
    const column = kept.find((each) => each.name === name);
    return column === undefined ? '' : displayCell(row, column).text;
  };
  return {
    rows: largest.map((row) => ({
      name: keys.map((key) => row[key] ?? '(none)').join(', '),
      difference: text(row, 'difference'),
      exact: `${text(row, 'billing_cost_before')} before, ${text(row, 'billing_cost')} now`,
      change: text(row, 'change_percent'),
      /** The width of the bar, in percent of the largest difference. */
      share: Number((sizeOf(row.difference) * 100n) / max),
      // A difference links to the second period.
      address: leadTo([row], 'billing_cost')?.address ?? null,
    })),
    data: largest.map((row) => Object.fromEntries(kept.map(({ name }) => [name, row[name] ?? null]))),
  };
}

function sizeOf(cell: ReportRow[string] | undefined): bigint {
  return toTenThousandths(String(cell ?? '0'));
}

function absoluteSize(size: bigint): bigint {
  return size < 0n ? -size : size;
}
