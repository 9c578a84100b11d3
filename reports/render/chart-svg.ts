/** Draws a report's charts as SVG on the server: no script on the page, nothing fetched, prints well. */

import { BarChart, HeatmapChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent, VisualMapComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { ChartSpec } from '../catalogue.js';
import type { ReportColumn, ReportResult, ReportRow } from '../report-result.js';
import { type Drawing, GRID_LINE, INK, MOST_BARS, optionOf } from './chart-options.js';
import { groupBy, type Point, pointsOf } from './chart-points.js';
import { columnLabel, grouped } from './labels.js';

use([
  BarChart,
  HeatmapChart,
  LineChart,
  GridComponent,
  LegendComponent,
  TitleComponent,
  VisualMapComponent,
  SVGRenderer,
]);

export interface Chart {
  readonly title: string;
  /** One sentence for those who cannot see it. */
  readonly description: string;
  readonly svg: string;
}

const DEFAULT_WIDTH = 900;

/** A chart for each currency, since amounts of two currencies never share an axis. */
export function drawCharts(
  result: ReportResult,
  { width = DEFAULT_WIDTH }: { readonly width?: number } = {},
): Chart[] {
  if (result.rows.length === 0) return [];
  return result.charts.flatMap((spec) =>
    groupBy(result.rows, (row) => text(row.currency_code)).map(([currency, rows]) =>
      drawChart({ result, spec, currency, rows, width }),
    ),
  );
}

function drawChart({ result, spec, currency, rows, width }: Wanted): Chart {
  const value = columnsOf(result, spec.roles.value)[0];
  const unit = value?.unit?.replace('money', currency) ?? '';
  const named = value ? `${columnLabel({ ...value, unit: null })}${unit === '' ? '' : ` in ${unit}`}` : '';
  const by = [spec.roles.key, spec.roles.series, spec.roles.y]
    .flatMap((names) => (names === undefined ? [] : columnsOf(result, names)))
    .map((column) => columnLabel(column).toLowerCase());
  const suffix = currency === '' || unit.includes(currency) ? '' : `, shipments billed in ${currency}`;
  const title = `${named} by ${listed([...new Set(by)])}${suffix}`;
  const points = pointsOf(spec, rows);
  const drawing = { title, unit, spec, points };
  const [option, height] = optionOf(drawing);
  return { title, description: describe(drawing), svg: toSvg(option, { width, height, title }) };
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

interface Wanted {
  readonly result: ReportResult;
  readonly spec: ChartSpec;
  readonly currency: string;
  readonly rows: readonly ReportRow[];
  readonly width: number;
}

function toSvg(
  option: EChartsCoreOption,
  { width, height, title }: { readonly width: number; readonly height: number; readonly title: string },
): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption(option);
    // The viewBox that ECharts writes lets the page scale it; the style block it adds is for animation only.
    return (
      chart
        .renderToSVGString()
        .replace(/<svg width="\d+" height="\d+"/, `<svg role="img" aria-label="${escapeXml(title)}"`)
        .replace(/<style[^>]*>[\s\S]*?<\/style>/g, '')
        .replace(/ class="[^"]*"/g, '')
        // A page with a strict content policy ignores style attributes; the same words as attributes are taken.
        .replace(/ style="([^"]*)"/g, (_, style: string) => attributesOf(style))
        .replaceAll(new RegExp(INK, 'gi'), 'currentColor')
        .replaceAll(new RegExp(GRID_LINE, 'gi'), 'var(--line, #d8dee4)')
    );
  } finally {
    chart.dispose();
  }
}

function attributesOf(style: string): string {
  return style
    .split(';')
    .map((declaration) => declaration.split(':').map((part) => part.trim()))
    .filter(([name, value]) => name !== undefined && value !== undefined && /^(font|fill|stroke)/.test(name))
    .map(([name, value]) => ` ${name}="${value}"`)
    .join('');
}

function describe({ title, points, unit, spec }: Drawing): string {
  const known = points.filter((point) => point.value !== null);
  const largest = known.reduce<Point | undefined>(
    (most, point) => (most === undefined || Number(point.value) > Number(most.value) ? point : most),
    undefined,
  );
  const cut =
    spec.kind === 'bar' && points.length > MOST_BARS ? ` The first ${MOST_BARS} of ${points.length}.` : '';
  const place = largest ? [largest.key, largest.series].filter((part) => part !== '').join(', ') : '';
  const most = largest
    ? ` The largest is ${place} with ${grouped(largest.value ?? '')}${unit === '' ? '' : ` ${unit}`}.`
    : '';
  return `${title}.${most}${cut} The table holds every number.`;
}

function columnsOf(result: ReportResult, names: string | undefined): ReportColumn[] {
  return (names ?? '').split('+').map((name) => {
    const column = result.columns.find((each) => each.name === name);
    if (column) return column;
    throw new Error(`Report ${result.name}: its chart needs a column "${name}", which it does not answer.`);
  });
}

function text(cell: unknown): string {
  return cell === null || cell === undefined ? '' : String(cell);
}

function escapeXml(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
