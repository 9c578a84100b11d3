/** Writes a result as one self-contained HTML page: charts as SVG, no script, no outside address, prints well. */

import { readFileSync } from 'node:fs';
import { Eta } from 'eta';
import type { ReportResult } from '../report-result.js';
import { drawCharts } from './chart-svg.js';
import { cellLabel, columnLabel, grouped, headLines } from './labels.js';

const eta = new Eta({ views: new URL('.', import.meta.url).pathname, autoTrim: false, cache: true });
/** The stylesheet, which the dashboard serves as well. */
export const REPORT_CSS = readFileSync(new URL('./report.css', import.meta.url), 'utf8');

export function renderHtml(result: ReportResult): string {
  return eta.render('./report.eta', { result, css: REPORT_CSS, body: renderReportBody(result) });
}

/** Everything below the heading, as HTML; `rowLimit` keeps a page on a screen small, the head still counts them all. */
export function renderReportBody(result: ReportResult, options: { readonly rowLimit?: number } = {}): string {
  const limit = options.rowLimit ?? Number.POSITIVE_INFINITY;
  const number = (align: 'left' | 'right'): string => (align === 'right' ? ' class="number"' : '');
  return eta.render('./report-body.eta', {
    result,
    head: headLines(result.head),
    charts: drawCharts(result),
    columns: result.columns.map((column) => ({ label: columnLabel(column), number: number(column.align) })),
    rows: result.rows.slice(0, limit).map((row) =>
      result.columns.map((column) => ({
        text: cellLabel(row[column.name] ?? null, column),
        number: number(column.align),
      })),
    ),
    cutAt: result.rows.length > limit ? grouped(String(limit)) : null,
  });
}
