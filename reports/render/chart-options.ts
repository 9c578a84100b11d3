/** The ECharts options of each kind of chart. */

import type { EChartsCoreOption } from 'echarts/core';
import stringWidth from 'string-width';
import type { ChartSpec } from '../catalogue.ts';
import {
  amountLabel,
  categoryAxis,
  cut,
  frame,
  INK,
  LETTER_WIDTH,
  PALETTE,
  reserveDiskSpace,
  short,
  valueAxis,
} from './chart-look.ts';
import { type Point, sumOf } from './chart-points.ts';
import { grouped } from './labels.ts';

const [FALL, , , RISE, , , , TOTAL] = PALETTE;
export const MAX_BARS = 15;
const MAX_SERIES = 8;

export interface Drawing {
  readonly title: string;
  readonly unit: string;
  readonly spec: ChartSpec;
  readonly points: readonly Point[];
  /** In pixels; names beside an axis and legends have to fit. */
  readonly width: number;
  readonly mostBars: number;
  /** The last key of a line that is still open, or lacks invoices: the line to it is dashed. */
  readonly incompleteFrom?: string | null;
}

/** The ECharts options, the height in pixels, and the point of each series at each index. */
type Drawn = [option: EChartsCoreOption, height: number, places: readonly (readonly (Point | undefined)[])[]];

export function optionOf(drawing: Drawing): Drawn {
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
function barOption({ points, unit, width, mostBars, spec }: Drawing): Drawn {
  const shown = barsOf(points, mostBars);
  const height = 62 + shown.length * 26;
  const names = shown.map((point) => cut(point.key, width));
  const amounts = shown.map((point) => amountLabel(point.value ?? ''));
  const option = {
    ...frame(),
    grid: {
      left: reserveDiskSpace(names),
      right: reserveDiskSpace(amounts),
      top: 10,
      bottom: 50,
      outerBoundsMode: 'none',
    },
    xAxis: {
      ...valueAxis(unit),
      splitNumber: Math.max(2, Math.floor(width / 150)),
      axisLabel: { color: INK, formatter: short, hideOverlap: true },
    },
    yAxis: { ...categoryAxis(names), inverse: true },
    series: [
      {
        type: 'bar',
        data: shown.map((point) => {
          const value = Number(point.value ?? 0);
          // A difference below zero has the color of less, as in a waterfall.
          return spec.roles.value === 'difference'
            ? { value, itemStyle: { color: value < 0 ? FALL : RISE } }
            : value;
        }),
        barMaxWidth: 18,
        label: {
          show: true,
          position: 'right',
          color: INK,
          formatter: ({ dataIndex }: { dataIndex: number }) => amounts[dataIndex] ?? '',
        },
      },
    ],
  };
  return [option, height, [shown]];
}

/** Bars without a value are left out behind the last that has one. */
export function barsOf(points: readonly Point[], mostBars: number): readonly Point[] {
  const last = points.findLastIndex(({ value }) => Number(value ?? 0) !== 0);
  return points.slice(0, Math.min(mostBars, last + 1));
}

/** The largest lines, the others summed as `other (n)`. */
export function linesOf(points: readonly Point[]): readonly [string, readonly Point[]][] {
  const all = largestFirst(points);
  if (all.length <= MAX_SERIES) return all.sort(([one], [other]) => (one < other ? -1 : 1));
  const kept = all.slice(0, MAX_SERIES - 1).sort(([one], [other]) => (one < other ? -1 : 1));
  const rest = all.slice(MAX_SERIES - 1);
  const name = `other (${rest.length})`;
  const byKey = Map.groupBy(
    rest.flatMap(([, members]) => members),
    ({ key }) => key,
  );
  const summed = Array.from(byKey, ([key, members]) => ({
    ...{ key, series: name, rows: members.flatMap(({ rows }) => rows) },
    value: sumOf(members.map(({ value }) => value)),
  }));
  return [...kept, [name, summed]];
}

function lineOption({ points, unit, spec, width, incompleteFrom = null }: Drawing): Drawn {
  const hasLegend = spec.roles.series !== undefined;
  const keys = [...new Set(points.map((point) => point.key))].sort();
  const series = linesOf(points);
  const openAt = incompleteFrom === null ? -1 : keys.indexOf(incompleteFrom);
  const top =
    30 +
    (hasLegend
      ? legendHeight(
          series.map(([name]) => name),
          width,
        )
      : 0);
  const option = {
    ...frame(),
    legend: { show: hasLegend, top: 0, textStyle: { color: INK }, type: 'plain', itemGap: LEGEND_GAP },
    grid: { left: 24, right: 40, top, bottom: openAt < 0 ? 18 : 34 },
    xAxis: categoryAxis(keys.map((key, at) => (at === openAt ? `${key}\nincomplete` : key))),
    yAxis: { ...valueAxis(unit), nameLocation: 'end', axisLabel: { color: INK, formatter: short } },
    series: [
      ...series.map(([name, members], index) =>
        lineOf(name, members, { keys, index, isShown: (at) => at !== openAt }),
      ),
      // The last step to an incomplete month is a line of its own.
      ...(openAt < 1
        ? []
        : series.map(([name, members], index) => ({
            ...lineOf(name, members, { keys, index, isShown: (at) => at === openAt || at === openAt - 1 }),
            lineStyle: { type: 'dotted', width: 2 },
            itemStyle: { color: PALETTE[index % PALETTE.length] },
          }))),
    ],
  };
  const places = series.map(([, members]) =>
    keys.map((each) => members.find((point) => point.key === each && point.value !== null)),
  );
  return [option, 220 + top, openAt < 1 ? places : [...places, ...places]];
}

function lineOf(
  name: string,
  members: readonly Point[],
  {
    keys,
    index,
    isShown,
  }: { readonly keys: readonly string[]; readonly index: number; readonly isShown: (at: number) => boolean },
) {
  const byKey = new Map(members.map((point) => [point.key, point.value]));
  return {
    type: 'line',
    name,
    symbol: SYMBOLS[index % SYMBOLS.length],
    symbolSize: 7,
    lineStyle: { type: index < 4 ? 'solid' : 'dashed', width: 2 },
    connectNulls: false,
    data: keys.map((each, at) => {
      const value = byKey.get(each);
      return value === null || value === undefined || !isShown(at) ? '-' : Number(value);
    }),
  };
}

/** Pixels of a legend whose entries stand side by side as long as they fit. */
function legendHeight(names: readonly string[], width: number): number {
  let rows = 1;
  let used = 0;
  for (const name of names) {
    const size = LEGEND_MARK + stringWidth(name) * LETTER_WIDTH + LEGEND_GAP;
    if (used > 0 && used + size > width) {
      rows += 1;
      used = 0;
    }
    used += size;
  }
  return rows * 24;
}

const LEGEND_MARK = 30;
const LEGEND_GAP = 24;

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

function heatmapOption({ spec, points, unit, width }: Drawing): Drawn {
  const columns = [...new Set(points.map((point) => point.key))].slice(0, MAX_BARS);
  const lines = [...new Set(points.map((point) => point.series))].slice(0, MAX_BARS);
  const shown = points.filter(
    (point) => point.value !== null && columns.includes(point.key) && lines.includes(point.series),
  );
  const cells = shown.map((point) => [
    columns.indexOf(point.key),
    lines.indexOf(point.series),
    Number(point.value),
  ]);
  const sizes = cells.map((cell) => cell[2] ?? 0);
  // Sums begin at nothing. Means lie close together, and nobody would tell their colours apart if they did.
  const least = Math.min(...(spec.roles.combine === undefined ? sizes : [0, ...sizes]));
  const most = Math.max(...sizes);
  const names = lines.map((line) => cut(line, width));
  const cellWidth = (width - reserveDiskSpace(names) - 20) / columns.length;
  const option = {
    ...frame(),
    grid: { left: reserveDiskSpace(names), right: 20, top: 10, bottom: 80, outerBoundsMode: 'none' },
    xAxis: categoryAxis(columns.map((column) => cut(column, width))),
    yAxis: { ...categoryAxis(names), inverse: true },
    visualMap: {
      min: least,
      max: most > least ? most : least + 1,
      orient: 'horizontal',
      left: 'center',
      bottom: 0,
      text: [`${short(most)} ${unit}`.trim(), short(least)],
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
          show: cellWidth >= MIN_LABELLED_CELL,
          formatter: ({ value: cell }: { value: number[] }) => short(cell[2] ?? 0),
          color: '#000000',
          backgroundColor: 'rgba(255,255,255,0.75)',
          padding: 2,
          borderRadius: 2,
        },
      },
    ],
  };
  return [option, 110 + lines.length * 30, [shown]];
}

const MIN_LABELLED_CELL = 48;

/**
 * Bars that stand on the sum of those before them; the first and the last stand on the ground. Each stands on an unseen
 * one that reaches to its lower end, below zero as well: stacked by sum, where the usual way puts negative and positive
 * apart.
 */
function waterfallOption({ points, unit, width }: Drawing): Drawn {
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
  const stepWidth = (width - 60) / Math.max(1, bars.length);
  const option = {
    ...frame(),
    grid: { left: 44, right: 16, top: 40, bottom: 36, outerBoundsMode: 'none' },
    xAxis: {
      ...categoryAxis(bars.map((bar) => bar.name)),
      axisLabel: { color: INK, interval: 0, width: stepWidth, overflow: 'break' },
    },
    yAxis: { ...valueAxis(unit), nameLocation: 'end', axisLabel: { color: INK, formatter: short } },
    series: [
      {
        type: 'bar',
        stack: 'steps',
        stackStrategy: 'all',
        silent: true,
        itemStyle: { color: 'transparent' },
        data: bars.map((bar) => bar.low),
      },
      {
        type: 'bar',
        stack: 'steps',
        stackStrategy: 'all',
        barMaxWidth: 70,
        data: bars.map((bar) => ({
          value: bar.size,
          itemStyle: { color: bar.isTotal ? TOTAL : bar.signed < 0 ? FALL : RISE },
        })),
        label: {
          show: true,
          position: 'top',
          color: INK,
          formatter: ({ dataIndex }: { dataIndex: number }) => signed(bars[dataIndex], stepWidth),
        },
      },
    ],
  };
  return [option, 340, [[], points]];
}

/** To the cent where there is room for it, else in short. */
function signed(
  bar: { readonly isTotal: boolean; readonly signed: number } | undefined,
  room: number,
): string {
  if (!bar) return '';
  const sign = !bar.isTotal && bar.signed > 0 ? '+' : '';
  const amount = grouped(bar.signed.toFixed(2));
  return `${sign}${amount.length * LETTER_WIDTH < room ? amount : short(bar.signed)}`;
}

function largestFirst(points: readonly Point[]): [string, Point[]][] {
  const total = (members: readonly Point[]): number =>
    members.reduce((sum, point) => sum + Math.abs(Number(point.value ?? 0)), 0);
  return [...Map.groupBy(points, (point) => point.series)].sort(
    ([, one], [, other]) => total(other) - total(one),
  );
}
