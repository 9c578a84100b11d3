/** The HTML file is self-contained, with charts as SVG, without a script or an outside address. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { exampleTables } from '../catalogue.ts';
import type { ReportRow } from '../cells.ts';
import type { ReportResult } from '../report-result.ts';
import { answerOf } from './answer.ts';
import { chartFigure, drawCharts } from './charts.ts';
import { stateBadge } from './html-cells.ts';
import { columnLabel, displayCell, grouped, headLines, instantLabel, plural } from './labels.ts';
import { sumsOf } from './table-order.ts';
import { escapeAttribute, escapeHtml, templatesIn } from './templates.ts';

const eta = templatesIn(new URL('.', import.meta.url));
export const CHART_CSS = readFileSync(new URL('./chart.css', import.meta.url), 'utf8');
const REPORT_CSS = `${CHART_CSS}\n${readFileSync(new URL('./report.css', import.meta.url), 'utf8')}`;

/** The file's content security policy allows only this style. */
const CSS_HASH = createHash('sha256').update(REPORT_CSS).digest('base64');

export async function renderHtml(result: ReportResult): Promise<string> {
  return eta.render('./report.eta', {
    result,
    css: REPORT_CSS,
    cssHash: CSS_HASH,
    body: await renderReportBody(result),
  });
}

/** `isTotal`: the rows at the address sum to the number; otherwise the number is computed from them. */
export type LeadTo = (
  rows: readonly ReportRow[],
  column: string,
) => { readonly address: string; readonly isTotal: boolean } | null;

export interface BodyOptions {
  readonly between?: string;
  /** The rows that the table shows, counted from 0; the one at `to` is not among them. */
  readonly page?: {
    readonly from: number;
    readonly to: number;
    readonly previous: string | null;
    readonly next: string | null;
  };
  readonly columns?: readonly string[];
  /** The address of the page sorted by a column; a file has one order only. */
  readonly sortBy?: (column: string) => {
    readonly address: string;
    readonly order: 'ascending' | 'descending' | null;
  };
  /** The link of a cell (one row) or of a chart (several rows); a file has no links. */
  readonly leadTo?: LeadTo;
  /** Adds boxes to rows, and a button that posts the ticked ones. */
  readonly choose?: {
    readonly label: string;
    readonly action: string;
    readonly report: string;
    readonly query: string;
    keyOf(row: ReportRow): string | null;
    /** Returns the note of the decision about a row; without this function no column shows decisions. */
    readonly noteOf: ((row: ReportRow) => string | null) | null;
  };
}

export async function renderReportBody(result: ReportResult, options: BodyOptions = {}): Promise<string> {
  const { page } = options;
  const currency = onlyValue(result.rows, 'currency_code');
  const isOfOnePartner = result.rows.length > 0 && onlyValue(result.rows, 'partner_id') !== null;
  const columns = result.columns.filter(
    ({ name }) =>
      (options.columns?.includes(name) ?? true) &&
      !(name === 'currency_code' && currency !== null) &&
      !(name === 'partner_id' && isOfOnePartner),
  );
  const sums = sumsOf(result);
  const { leadTo = () => null } = options;
  const charts = await drawCharts(result, (rows, column) => leadTo(rows, column)?.address ?? null);
  const number = (align: 'left' | 'right'): string => (align === 'right' ? ' class="number"' : '');
  return eta.render('./report-body.eta', {
    result,
    answer: answerOf(result),
    between: options.between ?? '',
    provenance: provenanceOf(result),
    currency,
    prose: [result.means, `Rows are in order of: ${result.order}.`, result.limits].map((text) =>
      escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>'),
    ),
    example: result.example && { text: result.example.text, tables: exampleTables(result.example) },
    head: headLines(result.head),
    ...{ listed: listedRows(result), absent: result.missing?.[0] ?? null },
    grain: result.grain
      .replace('value of each column named in by', result.head.parameters.by?.replaceAll('+', ', ') ?? '')
      .replace(/, ([^,]+)$/, ' and $1'),
    charts: charts.map((chart) => chartFigure(chart, options.leadTo === undefined ? null : {})).join('\n'),
    leads: options.leadTo !== undefined,
    columns: columns.map((column) => ({
      ...{ label: columnLabel(column), number: number(column.align) },
      sort: options.sortBy?.(column.name) ?? null,
    })),
    sums: sums.map((sum) =>
      columns.map((column, index) => ({
        ...(index === 0 ? { text: `Sum in ${sum.currency_code}`, exact: null } : displayCell(sum, column)),
        kind: number(column.align),
      })),
    ),
    choose: options.choose ?? null,
    rows: result.rows.slice(page?.from, page?.to).map((row) => ({
      key: options.choose?.keyOf(row) ?? null,
      note: options.choose?.noteOf?.(row) ?? null,
      cells: columns.map((column) => ({
        ...displayCell(row, column),
        badge: column.name === 'state' ? stateBadge(row.state) : null,
        kind: kindOf(displayCell(row, column).text, column.align),
        lead: isLink(column) && row[column.name] !== null ? leadTo([row], column.name) : null,
      })),
    })),
    attribute: escapeAttribute,
    page:
      page === undefined || (page.previous === null && page.next === null)
        ? null
        : { ...page, from: page.from + 1, to: Math.min(page.to, result.rows.length), of: result.rows.length },
    grouped: (count: number) => grouped(String(count)),
  });
}

function listedRows({ rows, whole = [] }: ReportResult): string {
  const all = whole.reduce((sum, of) => sum + Number(of.rows), 0);
  if (all > rows.length) return `The first ${grouped(String(rows.length))} of ${grouped(String(all))} rows`;
  return plural(rows.length, 'row');
}

function isLink({ align, name }: ReportResult['columns'][number]): boolean {
  return align === 'right' || name === 'invoice_number';
}

function onlyValue(rows: readonly ReportRow[], column: string): string | null {
  const values = new Set(rows.map((row) => row[column] ?? null));
  const [value] = values;
  return values.size === 1 && typeof value === 'string' ? value : null;
}

function provenanceOf({ head }: ReportResult): string {
  const proved = head.provedPercent === null ? 'nothing to prove' : `${head.provedPercent} % proved`;
  return `Publication ${head.publication}, ${instantLabel(head.asOf)} · ${grouped(String(head.shipments))} shipments, ${proved} · ${head.level} level · ${head.timeZone}`;
}

function kindOf(text: string, align: 'left' | 'right'): string {
  if (align === 'right') return ' class="number"';
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return ' class="day"';
  return text.length > LONG_TEXT ? ' class="long"' : ' class="short"';
}

const LONG_TEXT = 40;
