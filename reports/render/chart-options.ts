/** What ECharts is told for each kind of chart; colours and marks that colour-blind people can tell apart. */

import type { EChartsCoreOption } from 'echarts/core';
import stringWidth from 'string-width';
import type { ChartSpec } from '../catalogue.js';
import { groupBy, type Point } from './chart-points.js';
import { grouped } from './labels.js';

/** Okabe and Ito's palette: told apart by colour-blind people, and in grey by order of lightness. */
const PALETTE = ['#0072B2', '#E69F00', '#009E73', '#D55E00', '#CC79A7', '#56B4E9', '#7A5C00', '#595959'];
export const MOST_BARS = 25;
const MOST_SERIES = 8;
/** The drawing replaces these by the page's own colours, so that one SVG serves light and dark. */
export const INK = '#123456';
export const GRID_LINE = '#654321';

export interface Drawing {
  readonly title: string;
  readonly unit: string;
  readonly spec: ChartSpec;
  readonly points: readonly Point[];
}

export function optionOf(drawing: Drawing): [EChartsCoreOption, number] {
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
function barOption({ points, unit }: Drawing): [EChartsCoreOption, number] {
  const shown = points.slice(0, MOST_BARS);
  const height = 62 + shown.length * 26;
  const names = shown.map((point) => point.key);
  const option = {
    ...frame(),
    grid: { left: roomFor(names), right: 110, top: 10, bottom: 50, outerBoundsMode: 'none' },
    xAxis: { ...valueAxis(unit), axisLabel: { color: INK, formatter: short } },
    yAxis: { ...categoryAxis(names), inverse: true },
    series: [
      {
        type: 'bar',
        data: shown.map((point) => Number(point.value ?? 0)),
        barMaxWidth: 18,
        label: {
          show: true,
          position: 'right',
          color: INK,
          formatter: ({ dataIndex }: { dataIndex: number }) => grouped(shown[dataIndex]?.value ?? ''),
        },
      },
    ],
  };
  return [option, height];
}

function lineOption({ points, unit, spec }: Drawing): [EChartsCoreOption, number] {
  const hasLegend = spec.roles.series !== undefined;
  const keys = [...new Set(points.map((point) => point.key))].sort();
  const series = largestFirst(points).slice(0, MOST_SERIES);
  const option = {
    ...frame(),
    legend: { show: hasLegend, top: 0, textStyle: { color: INK }, type: 'plain', itemGap: 24 },
    grid: { left: 24, right: 40, top: hasLegend ? 64 : 30, bottom: 18 },
    xAxis: categoryAxis(keys),
    yAxis: { ...valueAxis(unit), nameLocation: 'end', axisLabel: { color: INK, formatter: short } },
    series: series.map(([name, members], index) => {
      const byKey = new Map(members.map((point) => [point.key, point.value]));
      return {
        type: 'line',
        name,
        symbol: SYMBOLS[index % SYMBOLS.length],
        symbolSize: 7,
        lineStyle: { type: index < 4 ? 'solid' : 'dashed', width: 2 },
        connectNulls: false,
        data: keys.map((each) => {
          const value = byKey.get(each);
          return value === null || value === undefined ? '-' : Number(value);
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

function heatmapOption({ points, unit }: Drawing): [EChartsCoreOption, number] {
  const columns = [...new Set(points.map((point) => point.key))].slice(0, MOST_BARS);
  const lines = [...new Set(points.map((point) => point.series))].slice(0, MOST_BARS);
  const cells = points
    .filter((point) => point.value !== null)
    .map((point) => [columns.indexOf(point.key), lines.indexOf(point.series), Number(point.value)])
    .filter(([x, line]) => (x ?? -1) >= 0 && (line ?? -1) >= 0);
  const sizes = cells.map((cell) => cell[2] ?? 0);
  const option = {
    ...frame(),
    grid: { left: roomFor(lines), right: 20, top: 10, bottom: 80, outerBoundsMode: 'none' },
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
function waterfallOption({ points, unit }: Drawing): [EChartsCoreOption, number] {
  let level = 0;
  const bars = points.map((point, index) => {
    const size = Number(point.value ?? 0);
    const isTotal = index === 0 || index === points.length - 1;
    const start = isTotal ? 0 : level;
    level = isTotal ? size : level + size;
    return {
      name: point.key,
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

/** Pixels that the names beside an axis take; without a screen ECharts measures them too small. */
function roomFor(names: readonly string[]): number {
  return (
    16 + Math.max(...names.map((name) => Math.min(stringWidth(name), MOST_LABEL_LETTERS))) * LETTER_WIDTH
  );
}

const MOST_LABEL_LETTERS = 32;
const LETTER_WIDTH = 7;

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
    data: names.map((name) =>
      name.length > MOST_LABEL_LETTERS ? `${name.slice(0, MOST_LABEL_LETTERS - 1)}…` : name,
    ),
    axisLabel: { color: INK, hideOverlap: true },
    axisLine: { lineStyle: { color: INK } },
    axisTick: { show: false },
  };
}

function largestFirst(points: readonly Point[]): [string, Point[]][] {
  const total = (members: readonly Point[]): number =>
    members.reduce((sum, point) => sum + Math.abs(Number(point.value ?? 0)), 0);
  return groupBy(points, (point) => point.series).sort(([, one], [, other]) => total(other) - total(one));
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
