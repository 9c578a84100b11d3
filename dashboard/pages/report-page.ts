/** A report's page: one currency at a time, the columns that were chosen, a page of the rows, and where to go on from here. */

import type { ReportDefinition } from '../../reports/catalogue.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { isComparable, takesTwoPeriods } from '../../reports/compare.ts';
import { acrossOf, type Pivoted, pivoted } from '../../reports/pivot.ts';
import { renderReportBody } from '../../reports/render/html-page.ts';
import { columnLabel } from '../../reports/render/labels.ts';
import { sortedBy, sumsOf } from '../../reports/render/table-order.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import { all, filtersIn, filtersOf, one, pageNumber, type Query, withQuery } from '../address.ts';
import { type LeadTo, leadingTo } from '../drill-down.ts';
import type { RowChoice } from '../guest-pages.ts';
import { saveAddress } from '../saved-views/saved-views.ts';
import { renderPart } from '../views.ts';
import { comparedPeriod } from './compared-period.ts';

const ROWS_ON_A_PAGE = 100;

/** The data of `report.eta`, and the same for programs. */
export async function shownReport(
  report: ReportDefinition,
  query: Query,
  answered: ReportResult,
  choice: { readonly of: RowChoice; readonly parameters: Readonly<Record<string, string>> } | null = null,
): Promise<{ readonly values: Readonly<Record<string, unknown>>; readonly figures: unknown }> {
  const to = (changes: Readonly<Record<string, string | null>>): string =>
    withQuery(`/reports/${report.name}`, query, changes);
  const sort = one(query, 'sort');
  const currencies = currenciesOf(answered, query);
  const { shown } = currencies;
  const ofCurrency = (result: ReportResult): ReportResult =>
    shown === null
      ? result
      : { ...result, rows: result.rows.filter(({ currency_code }) => currency_code === shown) };
  const pivot = one(query, 'pivot');
  const across = pivot === undefined ? null : pivoted(report, ofCurrency(answered), pivot);
  const asked = across?.result ?? ofCurrency(answered);
  const result = sort === undefined ? asked : sortedBy(asked, sort);
  const columns = chosenColumns(result, query);
  const inTable = columns.filter(({ isShown }) => isShown).map(({ column }) => column);
  const from = Math.min((pageNumber(query) - 1) * ROWS_ON_A_PAGE, lastPageOf(result));
  const next = from + ROWS_ON_A_PAGE < result.rows.length;
  const page = {
    ...{ from, to: from + ROWS_ON_A_PAGE },
    previous: from > 0 ? to({ page: String(from / ROWS_ON_A_PAGE) }) : null,
    next: next ? to({ page: String(from / ROWS_ON_A_PAGE + 2) }) : null,
  };
  const of = across === null && one(query, 'compare') === undefined ? choice?.of : undefined;
  const choosing =
    of !== undefined && result.rows.some((row) => of.keyOf(report.name, row) !== null)
      ? {
          choose: {
            ...{ label: of.label, action: of.action, report: report.name },
            asked: JSON.stringify({ filters: filtersOf(query), parameters: choice?.parameters }),
            keyOf: (row: ReportRow) => of.keyOf(report.name, row),
          },
        }
      : {};
  const between = renderPart('report-links', {
    goOn: goOnFrom(report, query),
    across: [
      ...acrossOf(report, answered)
        .filter((name) => name !== pivot)
        .map((name) => ({
          name: labelOf(answered, name),
          address: to({ pivot: name, sort: null, page: null, columns: null }),
        })),
      ...(pivot === undefined
        ? []
        : [{ name: 'none', address: to({ pivot: null, sort: null, page: null, columns: null }) }]),
    ],
    currencies: {
      shown,
      others: currencies.names
        .filter((name) => name !== shown)
        .map((name) => ({ name, address: to({ currency: name, page: null }) })),
      all: shown === null ? null : to({ show: 'all', page: null }),
    },
    columns: columns.map(({ column, isShown }) => ({
      ...{ name: column.name, label: columnLabel(column), isShown },
    })),
    kept: Object.keys(query)
      .filter((name) => name !== 'columns' && name !== 'page')
      .flatMap((name) => all(query, name).map((value) => ({ name, value }))),
  });
  const body = await renderReportBody(result, {
    ...{ between, page, columns: inTable.map(({ name }) => name), ...choosing },
    leadTo:
      across === null
        ? leadsOf(report, query, result)
        : leadsAcross(across, leadsOf(report, query, answered)),
    sortBy: (column) => ({
      address: to({ sort: sort === `-${column}` ? column : `-${column}`, page: null }),
      order: sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : null,
    }),
  });
  return {
    values: { body },
    figures: {
      ...{ report: report.name, title: answered.title, head: answered.head },
      columns: inTable.map(({ name, type, unit }) => ({ name, type, unit })),
      rows: result.rows
        .slice(page.from, page.to)
        .map((row) => Object.fromEntries(inTable.map(({ name }) => [name, row[name] ?? null]))),
      totals: sumsOf(result),
      ...{ currency: shown, next: page.next },
    },
  };
}

function lastPageOf({ rows }: ReportResult): number {
  return Math.max(0, Math.ceil(rows.length / ROWS_ON_A_PAGE) - 1) * ROWS_ON_A_PAGE;
}

/** A report of two periods says them row by row; its page's days are the second. */
function leadsOf(report: ReportDefinition, query: Query, result: ReportResult): LeadTo {
  const before = comparedPeriod(query);
  return before !== null && takesTwoPeriods(report)
    ? leadingTo({ report, result, query: { ...query, from: [], to: [], period: [] }, before: null })
    : leadingTo({ report, result, query, before });
}

/** A cell leads where the row does of which it was made. */
function leadsAcross({ origin }: Pivoted, leadTo: LeadTo): LeadTo {
  return ([row], column) => {
    const made = row === undefined ? null : origin(row, column);
    return made === null ? null : leadTo([made], 'billing_cost');
  };
}

/** The currency with the most shipments, unless the address names one; null: all currencies. */
export function currenciesOf(
  { rows }: Pick<ReportResult, 'rows'>,
  query: Query,
): { readonly names: readonly string[]; readonly shown: string | null } {
  const shipped = new Map<string, number>();
  for (const { currency_code: currency, shipments, shipments_before: before } of rows) {
    if (typeof currency !== 'string') continue;
    shipped.set(currency, (shipped.get(currency) ?? 0) + Number(shipments ?? 1) + Number(before ?? 0));
  }
  const names = [...shipped].sort(([, one], [, other]) => other - one).map(([name]) => name);
  const isAsked = all(query, 'currency').some((name) => name !== '') || one(query, 'show') === 'all';
  return { names, shown: names.length > 1 && !isAsked ? (names[0] ?? null) : null };
}

/** Columns for details are there when they are asked for. */
function chosenColumns({ columns }: ReportResult, query: Query) {
  const asked = all(query, 'columns').filter((name) => columns.some((column) => column.name === name));
  return columns.map((column) => ({
    column,
    isShown: asked.length > 0 ? asked.includes(column.name) : !column.isDetail,
  }));
}

interface Step {
  readonly label: string;
  readonly address: string;
}

/** From a cost to why it changed, and to the charges to question, of the same days and filters. */
function goOnFrom(report: ReportDefinition, query: Query): readonly Step[] {
  const kept = filtersIn(query);
  const compare = one(query, 'compare');
  const hasDays =
    (one(query, 'from') !== undefined && one(query, 'to') !== undefined) ||
    one(query, 'period') !== undefined;
  const compared = { compare: compare ?? 'previous' };
  const by = BRIDGED[report.name] ?? 'total';
  const steps: (Step | null)[] = [
    hasDays && compare === undefined && isComparable(report)
      ? { label: 'Against the period before', address: withQuery(`/reports/${report.name}`, query, compared) }
      : null,
    hasDays && isComparable(report)
      ? {
          label: 'Why did it change?',
          address: withQuery('/reports/bridge', kept, { ...compared, p_by: by }),
        }
      : null,
    ...['Spend', 'Change', 'Audit'].flatMap((purpose) =>
      purpose === report.purpose
        ? AUDITS.filter(([name]) => name !== report.name).map(([name, label]) => ({
            ...{ label, address: withQuery(`/reports/${name}`, kept) },
          }))
        : [],
    ),
    { label: 'The shipments', address: withQuery('/shipments', kept) },
    { label: 'Save this view', address: saveAddress(`/reports/${report.name}`, query) },
  ];
  return steps.filter((step) => step !== null);
}

const BRIDGED: Readonly<Record<string, string>> = { carriers: 'carrier', tenants: 'tenant', zones: 'zone' };
const AUDITS = [
  ['duplicates', 'Charged more than once'],
  ['outliers', 'Far above the usual cost'],
  ['rebills', 'Charged again later'],
] as const;

function labelOf({ columns }: ReportResult, name: string): string {
  const column = columns.find((each) => each.name === name);
  return column === undefined ? name : columnLabel(column);
}
