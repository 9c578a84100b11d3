/** Draws a report's charts as SVG on the server: no script on the page, nothing fetched, prints well. */

import { BarChart, HeatmapChart, LineChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent, VisualMapComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { ChartSpec } from '../catalogue.js';
import type { ReportColumn, ReportResult, ReportRow } from '../report-result.js';
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

/** Okabe and Ito's palette: told apart by colour-blind people, and in grey by order of lightness. */
const PALETTE = ['#0072B2', '#E69F00', '#009E73', '#D55E00', '#CC79A7', '#56B4E9', '#7A5C00', '#595959'];
const WIDTH = 900;
const MOST_BARS = 25;
const MOST_SERIES = 8;
/** The page replaces this by its own text colour, so that one SVG serves light and dark. */
const INK = '#123456';
const GRID_LINE = '#654321';

/** A chart for each currency, since amounts of two currencies never share an axis. */
export function drawCharts(result: ReportResult): Chart[] {
  if (result.rows.length === 0) return [];
  return result.charts.flatMap((spec) =>
    groupBy(result.rows, (row) => text(row.currency_code)).map(([currency, rows]) =>
      drawChart(result, spec, currency, rows),
    ),
  );
}

function drawChart(
  result: ReportResult,
  spec: ChartSpec,
  currency: string,
  rows: readonly ReportRow[],
): Chart {
  const value = columnOf(result, spec.roles.value);
  const key = columnOf(result, spec.roles.key);
  const unit = value.unit?.replace('money', currency) ?? '';
  const named = `${columnLabel({ ...value, unit: null })}${unit === '' ? '' : ` in ${unit}`}`;
  const by = [key, ...(spec.roles.series ? [columnOf(result, spec.roles.series)] : [])]
    .concat(spec.roles.y ? [columnOf(result, spec.roles.y)] : [])
    .map((column) => columnLabel(column).toLowerCase())
    .join(' and ');
  const suffix = currency === '' || unit.includes(currency) ? '' : `, shipments billed in ${currency}`;
  const title = `${named} by ${by}${suffix}`;
  const drawing = { title, unit, key: key.name, value: value.name, spec, rows };
  const [option, height] = optionOf(drawing);
  return { title, description: describe(drawing), svg: toSvg(option, height, title) };
}

interface Drawing {
  readonly title: string;
  readonly unit: string;
  readonly key: string;
  readonly value: string;
  readonly spec: ChartSpec;
  readonly rows: readonly ReportRow[];
}

function optionOf(drawing: Drawing): [EChartsCoreOption, number] {
  switch (drawing.spec.kind) {
    case 'bar':
      return barOption(drawing);
    case 'line':
      return lineOption(drawing);
    case 'heatmap':
      return heatmapOption(drawing);
    case 'waterfall':
      return waterfallOption(drawing);
  }
}

/** Lying bars, in the order of the report, with the amounts written at their ends. */
function barOption({ rows, key, value, unit }: Drawing): [EChartsCoreOption, number] {
  const shown = rows.slice(0, MOST_BARS);
  const height = 70 + shown.length * 26;
  const option = {
    ...frame(),
    grid: { left: 24, right: 110, top: 10, bottom: 34 },
    xAxis: { ...valueAxis(unit), axisLabel: { color: INK, formatter: short } },
    yAxis: { ...categoryAxis(shown.map((row) => label(row[key]))), inverse: true },
    series: [
      {
        type: 'bar',
        data: shown.map((row) => Number(row[value] ?? 0)),
        barMaxWidth: 18,
        label: {
          show: true,
          position: 'right',
          color: INK,
          formatter: ({ dataIndex }: { dataIndex: number }) => grouped(text(shown[dataIndex]?.[value])),
        },
      },
    ],
  };
  return [option, height];
}

function lineOption({ rows, key, value, unit, spec }: Drawing): [EChartsCoreOption, number] {
  const seriesColumn = spec.roles.series;
  const keys = [...new Set(rows.map((row) => text(row[key])))].sort();
  const series = largestFirst(rows, seriesColumn, value).slice(0, MOST_SERIES);
  const option = {
    ...frame(),
    legend: { show: seriesColumn !== undefined, top: 0, textStyle: { color: INK }, type: 'plain' },
    grid: { left: 24, right: 40, top: seriesColumn === undefined ? 30 : 64, bottom: 18 },
    xAxis: categoryAxis(keys),
    yAxis: { ...valueAxis(unit), nameLocation: 'end', axisLabel: { color: INK, formatter: short } },
    series: series.map(([name, members], index) => {
      const byKey = new Map(members.map((row) => [text(row[key]), row[value]]));
      return {
        type: 'line',
        name,
        symbol: SYMBOLS[index % SYMBOLS.length],
        symbolSize: 7,
        lineStyle: { type: index < 4 ? 'solid' : 'dashed', width: 2 },
        connectNulls: false,
        data: keys.map((each) => {
          const cell = byKey.get(each);
          return cell === null || cell === undefined ? '-' : Number(cell);
        }),
      };
    }),
  };
  return [option, 340];
}

/** Lines are told apart by their marks as well, for those who do not see the colours. */
const SYMBOLS = [
  'circle',
  'rect',
  'triangle',
  'diamond',
  'emptyCircle',
  'emptyRect',
  'emptyTriangle',
  'emptyDiamond',
];

function heatmapOption({ rows, key, value, unit, spec }: Drawing): [EChartsCoreOption, number] {
  const y = spec.roles.y ?? key;
  const columns = [...new Set(rows.map((row) => label(row[key])))].slice(0, MOST_BARS);
  const lines = [...new Set(rows.map((row) => label(row[y])))].slice(0, MOST_BARS);
  const cells = rows
    .filter((row) => row[value] !== null)
    .map((row) => [columns.indexOf(label(row[key])), lines.indexOf(label(row[y])), Number(row[value])])
    .filter(([x, line]) => (x ?? -1) >= 0 && (line ?? -1) >= 0);
  const sizes = cells.map((cell) => cell[2] ?? 0);
  const option = {
    ...frame(),
    grid: { left: 24, right: 20, top: 10, bottom: 60 },
    xAxis: categoryAxis(columns),
    yAxis: { ...categoryAxis(lines), inverse: true },
    visualMap: {
      min: Math.min(0, ...sizes),
      max: Math.max(1, ...sizes),
      orient: 'horizontal',
      left: 'center',
      bottom: 0,
      text: [unit === '' ? 'more' : `more ${unit}`, 'less'],
      textStyle: { color: INK },
      formatter: short,
      // Cividis: even in lightness, the same to colour-blind eyes.
      inRange: { color: ['#FEE838', '#BCAF6F', '#7C7B78', '#434E6C', '#00224E'] },
    },
    series: [
      {
        type: 'heatmap',
        data: cells,
        itemStyle: { borderColor: '#ffffff', borderWidth: 1 },
        label: {
          show: columns.length <= 12,
          formatter: ({ value: cell }: { value: number[] }) => short(cell[2] ?? 0),
          color: '#000000',
          backgroundColor: 'rgba(255,255,255,0.75)',
          padding: 2,
          borderRadius: 2,
        },
      },
    ],
  };
  return [option, 110 + lines.length * 30];
}

/** Bars that stand on the sum of those before them; the first and the last stand on the ground. */
function waterfallOption({ rows, key, value, unit }: Drawing): [EChartsCoreOption, number] {
  let level = 0;
  const bars = rows.map((row, index) => {
    const size = Number(row[value] ?? 0);
    const isTotal = index === 0 || index === rows.length - 1;
    const start = isTotal ? 0 : level;
    level = isTotal ? size : level + size;
    return {
      name: label(row[key]),
      low: Math.min(start, level),
      size: Math.abs(level - start),
      isTotal,
      signed: size,
    };
  });
  const option = {
    ...frame(),
    grid: { left: 24, right: 20, top: 40, bottom: 18 },
    xAxis: categoryAxis(bars.map((bar) => bar.name)),
    yAxis: { ...valueAxis(unit), nameLocation: 'end', axisLabel: { color: INK, formatter: short } },
    series: [
      {
        type: 'bar',
        stack: 'steps',
        silent: true,
        itemStyle: { color: 'transparent' },
        data: bars.map((bar) => bar.low),
      },
      {
        type: 'bar',
        stack: 'steps',
        barMaxWidth: 70,
        data: bars.map((bar) => ({
          value: bar.size,
          itemStyle: { color: bar.isTotal ? '#595959' : bar.signed < 0 ? '#009E73' : '#D55E00' },
        })),
        label: {
          show: true,
          position: 'top',
          color: INK,
          formatter: ({ dataIndex }: { dataIndex: number }) => signed(bars[dataIndex]),
        },
      },
    ],
  };
  return [option, 340];
}

function signed(bar: { readonly isTotal: boolean; readonly signed: number } | undefined): string {
  if (!bar) return '';
  const sign = !bar.isTotal && bar.signed > 0 ? '+' : '';
  return `${sign}${grouped(bar.signed.toFixed(2))}`;
}

function frame(): EChartsCoreOption {
  return {
    animation: false,
    color: PALETTE,
    backgroundColor: 'transparent',
    textStyle: { fontFamily: FONT, color: INK },
  };
}

const FONT = 'system-ui, sans-serif';

function valueAxis(unit: string): EChartsCoreOption {
  return {
    type: 'value',
    name: unit,
    nameLocation: 'middle',
    nameGap: 26,
    nameTextStyle: { color: INK },
    splitLine: { lineStyle: { color: GRID_LINE } },
  };
}

function categoryAxis(names: readonly string[]): EChartsCoreOption {
  return {
    type: 'category',
    data: names.map((name) => (name.length > 32 ? `${name.slice(0, 31)}…` : name)),
    axisLabel: { color: INK, hideOverlap: true },
    axisLine: { lineStyle: { color: INK } },
    axisTick: { show: false },
  };
}

function toSvg(option: EChartsCoreOption, height: number, title: string): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
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

function describe({ title, rows, key, value, unit, spec }: Drawing): string {
  const numbers = rows.filter((row) => row[value] !== null);
  const largest = numbers.reduce<ReportRow | undefined>(
    (most, row) => (most === undefined || Number(row[value]) > Number(most[value]) ? row : most),
    undefined,
  );
  const cut =
    spec.kind === 'bar' && rows.length > MOST_BARS ? ` The first ${MOST_BARS} of ${rows.length} rows.` : '';
  const most = largest
    ? ` The largest is ${label(largest[key])} with ${grouped(text(largest[value]))}${unit === '' ? '' : ` ${unit}`}.`
    : '';
  return `${title}.${most}${cut} The table holds every number.`;
}

function columnOf(result: ReportResult, name: string | undefined): ReportColumn {
  const column = result.columns.find((each) => each.name === name);
  if (column) return column;
  throw new Error(`Report ${result.name}: its chart needs a column "${name}", which it does not answer.`);
}

function largestFirst(
  rows: readonly ReportRow[],
  column: string | undefined,
  value: string,
): [string, ReportRow[]][] {
  const total = (members: readonly ReportRow[]): number =>
    members.reduce((sum, row) => sum + Math.abs(Number(row[value] ?? 0)), 0);
  return groupBy(rows, (row) => (column === undefined ? '' : label(row[column]))).sort(
    ([, one], [, other]) => total(other) - total(one),
  );
}

function groupBy(rows: readonly ReportRow[], of: (row: ReportRow) => string): [string, ReportRow[]][] {
  const groups = new Map<string, ReportRow[]>();
  for (const row of rows) groups.set(of(row), [...(groups.get(of(row)) ?? []), row]);
  return [...groups];
}

/** Axis labels: 1.2 M instead of 1200000. The exact number stands in the table. */
function short(value: number | string): string {
  const size = Number(value);
  if (Math.abs(size) >= 1_000_000) return `${trimmed(size / 1_000_000)} M`;
  if (Math.abs(size) >= 10_000) return `${trimmed(size / 1000)} k`;
  return trimmed(size);
}

function trimmed(size: number): string {
  return String(Number(size.toFixed(2)));
}

function label(cell: unknown): string {
  return cell === null || cell === undefined || cell === '' ? '(none)' : String(cell);
}

function text(cell: unknown): string {
  return cell === null || cell === undefined ? '' : String(cell);
}

function escapeXml(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
