/** Spend on the overview: a period compared with the previous one, by currency, with the largest changes. */

import { toTenThousandths } from '../../lib/wire/decimal.ts';
import { findReport, type ReportDefinition } from '../../reports/catalogue.ts';
import type { ReportCell, ReportColumn, ReportRow } from '../../reports/cells.ts';
import { compareResults, percentOf } from '../../reports/compare.ts';
import { comparedDaysOf, comparisonNotes, incompleteLabel } from '../../reports/completeness.ts';
import { comparedPeriod, daysName, type Period, parsePeriod, periodBounds } from '../../reports/period.ts';
import { displayCell } from '../../reports/render/labels.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import type { ReportSession } from '../../reports/report-session.ts';
import { filtersIn, filtersOf, one, type Query, withQuery } from '../address.ts';
import { leadingTo } from '../drill-down.ts';
import { type PageContext, withReports } from '../page-context.ts';
import { currenciesOf } from './report-page.ts';

const MAX_MOVERS = 5;
const MOVERS = [
  { what: 'Tenants', report: 'tenants', keys: ['tenant'], parameters: {} },
  { what: 'Carriers', report: 'carriers', keys: ['carrier'], parameters: {} },
  {
    what: 'Lanes (origin and zone)',
    report: 'cost',
    keys: ['origin', 'zone'],
    parameters: { by: 'origin+zone' },
  },
] as const;
const COLUMNS = ['billing_cost', 'billing_cost_before', 'difference', 'change_percent'];
const MEASURES = [
  ['Spend', 'billing_cost'],
  ['Cost per package', 'cost_per_shipment'],
  ['Cost per lb', 'cost_per_lb'],
] as const;

/** @param months the rows of `summary` by month, from which the period is chosen unless the address says one */
export async function spendOf(
  context: PageContext,
  query: Query,
  months: readonly ReportRow[],
): Promise<Readonly<Record<string, unknown>> | null> {
  const days = periodOfPage(query, months, new Date());
  if (days === null) return null;
  const { from, to } = days;
  const before = comparedPeriod('previous', days);
  const filters = { ...filtersOf(query), from, to, period: undefined };
  const { by } = checkFilters(filters);
  const ask = (period: Period) => withReports(context, { ...filters, ...period }, answersOf);
  const [now, then] = await Promise.all([ask(days), ask(before)]);
  const { names, shown } = currenciesOf(
    { rows: now.totals.rows.length > 0 ? now.totals.rows : then.totals.rows },
    query,
  );
  const currency = one(query, 'currency') ?? shown ?? names[0] ?? null;
  const asked = { ...filtersIn(query), from, to, period: [] };
  const compared = withQuery('', asked, { compare: 'previous', currency });
  const movers = await Promise.all(
    MOVERS.map(async (mover, index) => {
      const report = findReport(mover.report);
      const [one, other] = [now.reports[index], then.reports[index]];
      if (one === undefined || other === undefined) throw new Error(`No answer of ${mover.report}.`);
      const result = compareResults(report, { now: one, before: other, with: before });
      const parameters = 'by' in mover.parameters ? `&p_by=${encodeURIComponent(mover.parameters.by)}` : '';
      const address = `/reports/${mover.report}${compared}${parameters}`;
      return {
        ...moversOf(result, { report, asked, before, currency, keys: mover.keys }),
        what: mover.what,
        address,
      };
    }),
  );
  const periods = [comparedDaysOf(days, now.completeness), comparedDaysOf(before, then.completeness)];
  const incomplete = incompleteLabel(periods);
  return {
    ...{
      from,
      to,
      by,
      before,
      currency,
    },
    title: `Spend of ${daysName(days)} against ${daysName(before)}, by ${by.replace('-', ' ')}${incomplete === null ? '' : ` (${incomplete})`}`,
    notes: comparisonNotes(periods),
    others: names
      .filter((name) => name !== currency)
      .map((name) => ({
        name,
        address: withQuery('/', query, { currency: name }),
      })),
    tiles: tilesOf(now.totals, then.totals, {
      ...{ currency, incomplete },
      compared,
      shipments: withQuery('/shipments', asked, { currency }),
    }),
    movers,
    totals: now.totals.rows,
    totals_before: then.totals.rows,
  };
}

/** As the address asks, else the last month that is over and has lines; of old data the last there is. */
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
  for (const { report, parameters } of MOVERS) reports.push(await session.run(report, parameters));
  const [first] = reports;
  if (first === undefined) throw new Error('There are no movers.');
  return { totals, reports, completeness: first.head.completeness };
}

type Totals = { readonly columns: readonly ReportColumn[]; readonly rows: readonly ReportRow[] };

/** Each measure with what it was; its links lead to the lines that it counts and to the same by carrier. */
function tilesOf(
  now: Totals,
  before: Totals,
  asked: {
    readonly currency: string | null;
    readonly incomplete: string | null;
    readonly compared: string;
    readonly shipments: string;
  },
) {
  // Partners are never added up; of several each has its tiles.
  return now.rows
    .filter(({ currency_code }) => currency_code === asked.currency)
    .flatMap((row) => {
      const other = before.rows.find(
        ({ currency_code, partner_id }) =>
          currency_code === row.currency_code && partner_id === row.partner_id,
      );
      return MEASURES.map(([what, name]) => {
        const column = now.columns.find((each) => each.name === name);
        if (column === undefined) throw new Error(`The totals have no ${name}.`);
        return {
          ...{ what, value: displayCell(row, column).text, exact: displayCell(row, column).exact },
          before: other === undefined ? '' : displayCell(other, column).text,
          change: markedChange(changeOf(row[name] ?? null, other?.[name] ?? null), asked.incomplete),
          shipments: name === 'billing_cost' ? asked.shipments : null,
          address: `/reports/carriers${asked.compared}`,
        };
      });
    });
}

function markedChange(change: string | null, incomplete: string | null): string | null {
  return change === null || incomplete === null ? change : `${change} (${incomplete})`;
}

/** In percent. */
function changeOf(now: ReportCell, before: ReportCell): string | null {
  if (now === null || before === null) return null;
  const [one, other] = [toTenThousandths(String(now)), toTenThousandths(String(before))];
  const percent = percentOf(one - other, other);
  return percent === null ? null : `${one > other ? '+' : ''}${percent} %`;
}

function moversOf(
  result: ReportResult,
  {
    report,
    asked,
    before,
    currency,
    keys,
  }: {
    readonly report: ReportDefinition;
    readonly asked: Query;
    readonly before: Period;
    readonly currency: string | null;
    readonly keys: readonly string[];
  },
) {
  const leadTo = leadingTo({ report, result, query: asked, before });
  const rows = result.rows
    .filter(({ currency_code, difference }) => currency_code === currency && Number(difference) !== 0)
    .slice(0, MAX_MOVERS);
  const columns = result.columns.filter(({ name }) => keys.includes(name) || COLUMNS.includes(name));
  const largest = Math.max(...rows.map(({ difference }) => Math.abs(Number(difference))));
  const shown = (row: ReportRow, name: string) => {
    const column = columns.find((each) => each.name === name);
    return column === undefined ? null : displayCell(row, column);
  };
  return {
    rows: rows.map((row) => ({
      name: keys.map((key) => row[key] ?? '(none)').join(', '),
      difference: shown(row, 'difference')?.text,
      exact: `${shown(row, 'billing_cost_before')?.text} before, ${shown(row, 'billing_cost')?.text} now`,
      change: shown(row, 'change_percent')?.text ?? '',
      /** Share of the largest difference, in percent. */
      share: Math.round((Number(row.difference) / largest) * 100),
      // A difference of two periods leads to the first of them.
      address: leadTo([row], 'billing_cost')?.address ?? null,
    })),
    figures: rows.map((row) => Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null]))),
  };
}
