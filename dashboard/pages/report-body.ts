import type { ReportDefinition } from '../../reports/catalogue.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { isComparable, takesTwoPeriods } from '../../reports/compare.ts';
import { acrossOf, type Pivoted, pivoted } from '../../reports/pivot.ts';
import { type LeadTo, renderReportBody } from '../../reports/render/html-page.ts';
import { columnLabel } from '../../reports/render/labels.ts';
import { sortedBy, sumsOf } from '../../reports/render/table-order.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import {
  allValues,
  comparedPeriod,
  filtersIn,
  filtersOf,
  lastValue,
  pageNumber,
  pagesBeside,
  type Query,
  withQuery,
} from '../address.ts';
import { leadingTo } from '../drill-down.ts';
import type { RowAction } from '../plugin-pages.ts';
import { renderPart } from '../views.ts';
import { saveAddress } from './saved-views.ts';

const ROWS_ON_A_PAGE = 100;

export async function reportBody(
  report: ReportDefinition,
  query: Query,
  whole: ReportResult,
  actions: { readonly of: readonly RowAction[]; readonly parameters: Readonly<Record<string, string>> },
): Promise<{ readonly body: string; readonly data: unknown }> {
  const to = (changes: Readonly<Record<string, string | null>>): string =>
    withQuery(`/reports/${report.name}`, query, changes);
  const sort = lastValue(query, 'sort');
  const { names, chosen: currency } = currenciesOf(whole, query);
  const ofCurrency: ReportResult =
    currency === null
      ? whole
      : {
          ...whole,
          rows: whole.rows.filter(isOf(currency)),
          ...(whole.whole === undefined ? {} : { whole: whole.whole.filter(isOf(currency)) }),
        };
  const pivot = lastValue(query, 'pivot');
  const across = pivot === undefined ? null : pivoted(report, ofCurrency, pivot);
  const unsorted = across?.result ?? ofCurrency;
  const result = sort === undefined ? unsorted : sortedBy(unsorted, sort);
  const columns = chosenColumns(result, query);
  const inTable = columns.filter(({ isVisible }) => isVisible).map(({ column }) => column);
  const lastPage = Math.max(1, Math.ceil(result.rows.length / ROWS_ON_A_PAGE));
  const at = Math.min(pageNumber(query), lastPage);
  const page = {
    ...{ from: (at - 1) * ROWS_ON_A_PAGE, to: at * ROWS_ON_A_PAGE },
    ...pagesBeside(at, at >= lastPage, (page) => to({ page })),
  };
  const of = across === null && lastValue(query, 'compare') === undefined ? actions.of[0] : undefined;
  const choose =
    of !== undefined && result.rows.some((row) => of.keyOf(report.name, row) !== null)
      ? {
          ...{ label: of.label, action: of.action, report: report.name },
          query: JSON.stringify({ filters: filtersOf(query), parameters: actions.parameters }),
          keyOf: (row: ReportRow) => of.keyOf(report.name, row),
          noteOf: (await of.notes?.()) ?? null,
        }
      : null;
  const pivotTo = (name: string, value: string | null) => ({
    ...{ name, address: to({ pivot: value, sort: null, page: null, columns: null }) },
  });
  const between = renderPart('report-links', {
    related: [...filesFor(report, whole), ...relatedTo(report, query)],
    across: [
      ...acrossOf(report, whole)
        .filter((name) => name !== pivot)
        .map((name) => pivotTo(labelIn(whole, name), name)),
      ...(pivot === undefined ? [] : [pivotTo('none', null)]),
    ],
    currency,
    currencies: names
      .filter((name) => name !== currency)
      .map((name) => ({ name, address: to({ currency: name, page: null }) })),
    allCurrencies: to({ show: 'all', page: null }),
    converted: report.parameters.some(({ name }) => name === 'in') ? conversionsOf(names, query, to) : [],
    columns: columns.map(({ column, isVisible }) => ({
      ...{ name: column.name, label: columnLabel(column), isVisible },
    })),
    kept: Object.keys(query)
      .filter((name) => name !== 'columns' && name !== 'page')
      .flatMap((name) => allValues(query, name).map((value) => ({ name, value }))),
  });
  const body = await renderReportBody(result, {
    ...{ between, page, columns: inTable.map(({ name }) => name) },
    ...(choose === null ? {} : { choose }),
    leadTo:
      across === null ? linksOf(report, query, result) : linksAcross(across, linksOf(report, query, whole)),
    sortBy: (column) => ({
      address: to({ sort: sort === `-${column}` ? column : `-${column}`, page: null }),
      order: sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : null,
    }),
  });
  const data = {
    ...{ report: report.name, title: whole.title, head: whole.head },
    columns: inTable.map(({ name, type, unit }) => ({ name, type, unit })),
    rows: result.rows
      .slice(page.from, page.to)
      .map((row) => Object.fromEntries(inTable.map(({ name }) => [name, row[name] ?? null]))),
    ...{ totals: sumsOf(result), currency, next: page.next },
  };
  return { body, data };
}

function isOf(currency: string) {
  return ({ currency_code }: ReportRow): boolean => currency_code === currency;
}

/** The rows of a report of two periods have their own days. */
function linksOf(report: ReportDefinition, query: Query, result: ReportResult): LeadTo {
  const before = comparedPeriod(query);
  return before !== null && takesTwoPeriods(report)
    ? leadingTo({ report, result, query: { ...query, from: [], to: [], period: [] }, before: null })
    : leadingTo({ report, result, query, before });
}

/** A cell of a pivot links as the row does from which it was made. */
function linksAcross({ origin }: Pivoted, leadTo: LeadTo): LeadTo {
  return ([row], column) => {
    const made = row === undefined ? null : origin(row, column);
    return made === null ? null : leadTo([made], 'billing_cost');
  };
}

/** Chosen is the currency with the most shipments, unless the address names one or all. */
export function currenciesOf(
  { rows, whole }: Pick<ReportResult, 'rows' | 'whole'>,
  query: Query,
): { readonly names: readonly string[]; readonly chosen: string | null } {
  const shipped = new Map<string, number>();
  for (const { currency_code: currency, shipments, shipments_before: before, rows: of } of whole ?? rows) {
    if (typeof currency !== 'string') continue;
    const count = Number(of ?? shipments ?? 1) + Number(before ?? 0);
    shipped.set(currency, (shipped.get(currency) ?? 0) + count);
  }
  const names = [...shipped].sort(([, one], [, other]) => other - one).map(([name]) => name);
  const isNamed =
    allValues(query, 'currency').some((name) => name !== '') ||
    lastValue(query, 'show') === 'all' ||
    lastValue(query, 'p_in') !== undefined;
  return { names, chosen: names.length > 1 && !isNamed ? (names[0] ?? null) : null };
}

/** Empty when there is one currency, of which nothing has to be converted. */
function conversionsOf(
  names: readonly string[],
  query: Query,
  to: (changes: Readonly<Record<string, string | null>>) => string,
) {
  const present = lastValue(query, 'p_in');
  const others = names.length > 1 ? names.filter((name) => name !== present?.toUpperCase()) : [];
  return [
    ...others.map((name) => ({ name: `In ${name} too`, address: to({ p_in: name, page: null }) })),
    ...(present === undefined ? [] : [{ name: 'Original amounts only', address: to({ p_in: null }) }]),
  ];
}

function chosenColumns({ columns }: ReportResult, query: Query) {
  const named = allValues(query, 'columns').filter((name) => columns.some((column) => column.name === name));
  return columns.map((column) => ({
    column,
    isVisible: named.length > 0 ? named.includes(column.name) : !column.isDetail,
  }));
}

/** The page on which a missing file is given, without which the report compares nothing or leaves lines out. */
function filesFor({ sources }: ReportDefinition, { missing = [], rows }: ReportResult) {
  const isUnrated = rows.some(({ unconverted }) => Number(unconverted ?? 0) > 0);
  return missing.length === 0 && !isUnrated
    ? []
    : sources.map((name) => ({ label: `Give the file of ${name}`, address: `/files/${name}` }));
}

function relatedTo(report: ReportDefinition, query: Query) {
  const kept = filtersIn(query);
  const compare = lastValue(query, 'compare');
  const hasDays =
    (lastValue(query, 'from') !== undefined && lastValue(query, 'to') !== undefined) ||
    lastValue(query, 'period') !== undefined;
  const canCompare = hasDays && isComparable(report);
  const compared = { compare: compare ?? 'previous' };
  const by = BRIDGED.find((name) => name === lastValue(query, 'p_by')) ?? 'total';
  const link = (label: string, path: string, of: Query, changes: Readonly<Record<string, string>> = {}) => ({
    ...{ label, address: withQuery(path, of, changes) },
  });
  return [
    ...(canCompare && compare === undefined
      ? [link('Against the period before', `/reports/${report.name}`, query, compared)]
      : []),
    ...(canCompare ? [link('Why did it change?', '/reports/bridge', kept, { ...compared, p_by: by })] : []),
    ...(AUDITED.includes(report.purpose)
      ? AUDITS.filter(([name]) => name !== report.name).map(([name, label]) =>
          link(label, `/reports/${name}`, kept),
        )
      : []),
    link('The shipments', '/shipments', kept),
    { label: 'Save this view', address: saveAddress(`/reports/${report.name}`, query) },
  ];
}

const BRIDGED = ['carrier', 'tenant', 'zone'] as const;
const AUDITED: readonly string[] = ['Spend', 'Change', 'Audit'];
const AUDITS = [
  ['duplicates', 'Charged more than once'],
  ['outliers', 'Far above the usual cost'],
  ['rebills', 'Charged again later'],
] as const;

function labelIn({ columns }: ReportResult, name: string): string {
  const column = columns.find((each) => each.name === name);
  return column === undefined ? name : columnLabel(column);
}
