/** Options are plain JSON: the server draws them as SVG, and a page with scripts draws the same again. */

import stringWidth from 'string-width';
import { shortened } from '../../lib/text-table.ts';
import type { ChartSpec } from '../catalogue.ts';
import { addDecimals, type Point, sumOf } from './chart-points.ts';
import { digitsOf, grouped, roundedTo } from './labels.ts';

/**
 * Okabe and Ito's palette for color-blind readers (colors in `chart.css`). The first and fourth, blue and
 * orange, also mean less and more.
 */
const PALETTE = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `var(--chart-${number})`);
const [LESS = '', , , MORE = '', , , , TOTAL = ''] = PALETTE;
const INK = 'currentColor';
const GRID_LINE = 'var(--line)';
const MAX_BARS = 15;
const MAX_SERIES = 8;

export interface Drawing {
  readonly unit: string;
  readonly spec: ChartSpec;
  readonly points: readonly Point[];
  /** The width of the drawing in pixels. */
  readonly width: number;
  /** The last key of a line if its month may still change. */
  readonly incompleteFrom: string | null;
  readonly addressOf: (point: Point) => string | null;
}

export interface Mark {
  readonly value: number | readonly number[];
  readonly name: string;
  readonly rounded: string;
  readonly exact: string;
  readonly address: string | null;
}

interface Series {
  readonly data: readonly (Mark | number | '-')[];
  readonly [key: string]: unknown;
}

export interface ChartOption {
  readonly series: readonly Series[];
  readonly [key: string]: unknown;
}

type Drawn = readonly [option: ChartOption, height: number];

export function optionOf(drawing: Drawing): Drawn {
  switch (drawing.spec.kind) {
    case 'bar':
      return barOption(drawing);
    case 'line':
    case 'stack':
      return timeOption(drawing);
    case 'heatmap':
      return heatmapOption(drawing);
    case 'waterfall':
      return waterfallOption(drawing);
  }
}

function frame(trigger: 'item' | 'axis') {
  return {
    animation: false,
    color: PALETTE,
    backgroundColor: 'transparent',
    textStyle: { fontFamily: 'system-ui, sans-serif', color: INK },
    tooltip: { trigger, confine: true },
  };
}

function valueAxis(unit: string) {
  return {
    type: 'value',
    name: unit,
    nameLocation: 'end',
    nameTextStyle: { color: INK },
    axisLabel: { color: INK, hideOverlap: true },
    splitLine: { lineStyle: { color: GRID_LINE } },
  };
}

function categoryAxis(names: readonly string[]) {
  return {
    type: 'category',
    data: names,
    // The last label, which may mark an incomplete month, is never left out.
    axisLabel: { color: INK, hideOverlap: true, showMaxLabel: true },
    axisLine: { lineStyle: { color: INK } },
    axisTick: { show: false },
  };
}

function barOption(drawing: Drawing): Drawn {
  const { points, unit, width, spec } = drawing;
  const bars = barsOf(points);
  const names = bars.map((point) => nameIn(width, point.key));
  const amounts = bars.map((point) => rounded(point.value ?? '0', unit));
  const option = {
    ...frame('axis'),
    grid: {
      ...{ left: widthOf(names), right: widthOf(amounts), top: 10, bottom: 50 },
      outerBoundsMode: 'none',
    },
    xAxis: {
      ...valueAxis(unit),
      ...{ nameLocation: 'middle', nameGap: 26, splitNumber: Math.max(2, Math.floor(width / 150)) },
    },
    yAxis: { ...categoryAxis(names), inverse: true },
    series: [
      {
        type: 'bar',
        data: bars.map((point, at) => ({
          ...markOf(point, drawing),
          label: { formatter: amounts[at] },
          ...(spec.roles.value === 'difference'
            ? { itemStyle: { color: Number(point.value) < 0 ? LESS : MORE } }
            : {}),
        })),
        barMaxWidth: 18,
        label: { show: true, position: 'right', color: INK },
      },
    ],
  };
  return [option, 62 + bars.length * 26];
}

export function barsOf(points: readonly Point[]): readonly Point[] {
  const last = points.findLastIndex(({ value }) => Number(value ?? 0) !== 0);
  return points.slice(0, Math.min(MAX_BARS, last + 1));
}

function timeOption(drawing: Drawing): Drawn {
  const { points, unit, spec, width, incompleteFrom } = drawing;
  const isStack = spec.kind === 'stack';
  const hasLegend = spec.roles.series !== undefined;
  const keys = [...new Set(points.map((point) => point.key))].sort();
  const series = largestSeries(points);
  const openAt = incompleteFrom === null ? -1 : keys.indexOf(incompleteFrom);
  const names = series.map(([name]) => name);
  const top = 30 + (hasLegend ? legendHeight(names, width) : 0);
  const dataOf = (members: readonly Point[], includes: (at: number) => boolean) => {
    const byKey = new Map(members.map((point) => [point.key, point]));
    return keys.map((key, at) => {
      const point = byKey.get(key);
      return point === undefined || point.value === null || !includes(at)
        ? ('-' as const)
        : {
            ...markOf(point, drawing),
            ...(isStack && at === openAt
              ? { itemStyle: { opacity: 0.55, borderType: 'dashed', borderColor: INK } }
              : {}),
          };
    });
  };
  const lineOf = (at: number) => ({
    type: 'line',
    symbol: SYMBOLS[at % SYMBOLS.length],
    symbolSize: 7,
    lineStyle: { type: at < 4 ? 'solid' : 'dashed', width: 2 },
  });
  const columns = { type: 'bar', stack: 'all', barMaxWidth: 48 };
  const option = {
    ...frame('axis'),
    legend: { show: hasLegend, top: 0, textStyle: { color: INK }, type: 'plain', itemGap: LEGEND_GAP },
    grid: { left: 24, right: 40, top, bottom: openAt < 0 ? 18 : 34 },
    xAxis: categoryAxis(keys.map((key, at) => (at === openAt ? `${key}\nincomplete` : key))),
    yAxis: valueAxis(unit),
    series: [
      ...series.map(([name, members], at) => ({
        ...{ name, ...(isStack ? columns : lineOf(at)) },
        // A line that begins with the incomplete month has no step to it.
        data: dataOf(members, (index) => isStack || index !== openAt || openAt === 0),
      })),
      // The last step to an incomplete month is a separate line.
      ...(openAt < 1 || isStack
        ? []
        : series.map(([name, members], at) => ({
            ...{ name, ...lineOf(at), lineStyle: { type: 'dotted', width: 2 } },
            itemStyle: { color: PALETTE[at % PALETTE.length] },
            data: dataOf(members, (index) => index === openAt || index === openAt - 1),
          }))),
    ],
  };
  return [option, 220 + top];
}

function largestSeries(points: readonly Point[]): readonly [string, readonly Point[]][] {
  const total = (members: readonly Point[]): number =>
    members.reduce((sum, { value }) => sum + Math.abs(Number(value ?? 0)), 0);
  const all = [...Map.groupBy(points, (point) => point.series)].sort(
    ([, one], [, other]) => total(other) - total(one),
  );
  const byName = (some: typeof all): typeof all => some.sort(([one], [other]) => (one < other ? -1 : 1));
  if (all.length <= MAX_SERIES) return byName(all);
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
  return [...byName(all.slice(0, MAX_SERIES - 1)), [name, summed]];
}

function legendHeight(names: readonly string[], width: number): number {
  let rows = 1;
  let used = 0;
  for (const name of names) {
    const size = LEGEND_SYMBOL + stringWidth(name) * LETTER_WIDTH + LEGEND_GAP;
    if (used > 0 && used + size > width) {
      rows += 1;
      used = 0;
    }
    used += size;
  }
  return rows * 24;
}

const LEGEND_SYMBOL = 30;
const LEGEND_GAP = 24;

/** Symbols of the lines, for readers who do not see the colors. */
const SYMBOLS = [
  ...['circle', 'rect', 'triangle', 'diamond'],
  ...['emptyCircle', 'emptyRect', 'emptyTriangle', 'emptyDiamond'],
];

function heatmapOption(drawing: Drawing): Drawn {
  const { spec, points, unit, width } = drawing;
  const columns = [...new Set(points.map((point) => point.key))].slice(0, MAX_BARS);
  const lines = [...new Set(points.map((point) => point.series))].slice(0, MAX_BARS);
  const cells = points.filter(
    (point) => point.value !== null && columns.includes(point.key) && lines.includes(point.series),
  );
  const sizes = cells.map(({ value }) => Number(value));
  // Sums begin at zero; means are close together, so their colors would be alike.
  const min = Math.min(...(spec.roles.combine === undefined ? sizes : [0, ...sizes]));
  const max = Math.max(...sizes);
  const names = lines.map((line) => nameIn(width, line));
  const cellWidth = (width - widthOf(names) - 20) / columns.length;
  const option = {
    ...frame('item'),
    grid: { left: widthOf(names), right: 20, top: 10, bottom: 80, outerBoundsMode: 'none' },
    xAxis: categoryAxis(columns.map((column) => nameIn(width, column))),
    yAxis: { ...categoryAxis(names), inverse: true },
    visualMap: {
      ...{ min, max: max > min ? max : min + 1, orient: 'horizontal', left: 'center', bottom: 0 },
      text: [`${shortNumber(max)} ${unit}`.trim(), shortNumber(min)],
      textStyle: { color: INK },
      // The colors are Cividis, which is even in lightness and the same to color-blind readers.
      inRange: { color: ['#FEE838', '#BCAF6F', '#7C7B78', '#434E6C', '#00224E'] },
    },
    series: [
      {
        type: 'heatmap',
        data: cells.map((point) => ({
          ...markOf(point, drawing),
          value: [columns.indexOf(point.key), lines.indexOf(point.series), Number(point.value)],
          label: { formatter: shortNumber(Number(point.value)) },
        })),
        itemStyle: { borderColor: '#ffffff', borderWidth: 1 },
        label: {
          ...{ show: cellWidth >= MIN_LABELED_CELL, color: '#000000', padding: 2, borderRadius: 2 },
          backgroundColor: 'rgba(255,255,255,0.75)',
        },
      },
    ],
  };
  return [option, 110 + lines.length * 30];
}

const MIN_LABELED_CELL = 48;

/**
 * Columns float on invisible ones that reach to their lower end, below zero as well; the first and last begin
 * at zero.
 */
function waterfallOption(drawing: Drawing): Drawn {
  const { unit, width } = drawing;
  const points = drawing.spec.roles.series === undefined ? drawing.points : changesOf(drawing);
  const stepWidth = (width - 60) / Math.max(1, points.length);
  let level = 0;
  const bars = points.map((point, at) => {
    const size = Number(point.value ?? 0);
    const isTotal = at === 0 || at === points.length - 1;
    const start = isTotal ? 0 : level;
    level = isTotal ? size : level + size;
    const amount = rounded(point.value ?? '0', unit);
    const text = amount.length * LETTER_WIDTH < stepWidth ? amount : shortNumber(size);
    return {
      low: Math.min(start, level),
      ends: isTotal ? [level] : [start, level],
      mark: {
        ...{ ...markOf(point, drawing), value: Math.abs(level - start) },
        itemStyle: { color: isTotal ? TOTAL : size < 0 ? LESS : MORE },
        label: { formatter: `${!isTotal && size > 0 ? '+' : ''}${text}` },
      },
    };
  });
  const begin = axisBegin(bars.flatMap(({ ends }) => ends));
  const stacked = { type: 'bar', stack: 'steps', stackStrategy: 'all', barMaxWidth: 70 };
  const names = points.map(({ key }) => nameIn(width, key));
  const option = {
    ...frame('axis'),
    grid: { left: 56, right: 16, top: 40, bottom: 36, outerBoundsMode: 'none' },
    xAxis: {
      ...categoryAxis(names),
      axisLabel: { color: INK, interval: 0, width: stepWidth, overflow: 'break' },
    },
    yAxis: {
      ...valueAxis(begin === 0 ? unit : `${unit}, from ${shortNumber(begin)}`),
      ...(begin === 0 ? {} : { min: begin, nameTextStyle: { color: INK, align: 'left' } }),
    },
    series: [
      {
        ...{ ...stacked, silent: true, itemStyle: { color: 'transparent' } },
        data: bars.map(({ low }) => low),
      },
      {
        ...{ ...stacked, data: bars.map(({ mark }) => mark) },
        label: { show: true, position: 'top', color: INK },
      },
    ],
  };
  return [option, 340];
}

/** The axis does not begin at zero when the steps are small beside their totals, because they would not be seen. */
function axisBegin(levels: readonly number[]): number {
  const [min, max] = [Math.min(...levels), Math.max(...levels)];
  if (min <= 0 || max === min || min < max * 0.6) return 0;
  const step = 10 ** Math.floor(Math.log10(max - min));
  return Math.max(0, Math.floor((min - (max - min)) / step) * step);
}

function changesOf({ points, width }: Drawing): readonly Point[] {
  const steps = (step: string) => points.filter(({ key }) => key === step);
  const totalOf = (step: string): Point => ({
    ...{ key: step, series: '', rows: steps(step).flatMap(({ rows }) => rows) },
    value: sumOf(steps(step).map(({ value }) => value)) ?? '0.0000',
  });
  const changes = Array.from(
    Map.groupBy(points, ({ series }) => series),
    ([series, members]): Point => {
      const amountOf = (step: string): string => members.find(({ key }) => key === step)?.value ?? '0.0000';
      const before = amountOf('first period');
      const value = addDecimals(
        amountOf('second period'),
        before.startsWith('-') ? before.slice(1) : `-${before}`,
      );
      return { key: series, series: '', value, rows: members.flatMap(({ rows }) => rows) };
    },
  );
  const most = Math.max(3, Math.floor(width / 90) - 3);
  const others = changes.length > most ? changes.slice(most - 1) : [];
  const rest: Point = {
    ...{ key: `other (${others.length})`, series: '', rows: others.flatMap(({ rows }) => rows) },
    value: sumOf(others.map(({ value }) => value)),
  };
  return [
    totalOf('first period'),
    ...changes.slice(0, changes.length - others.length),
    ...(others.length > 0 ? [rest] : []),
    totalOf('second period'),
  ];
}

function markOf(point: Point, { unit, addressOf }: Pick<Drawing, 'unit' | 'addressOf'>): Mark {
  const value = point.value ?? '0';
  return {
    value: Number(value),
    name: [point.key, point.series].filter((part) => part !== '').join(', '),
    rounded: `${rounded(value, unit)} ${unit}`.trim(),
    exact: `${grouped(value.replace(/(\.\d\d)0+$/, '$1'))} ${unit}`.trim(),
    address: addressOf(point),
  };
}

/** @param unit a currency; any other unit means two decimals */
export function rounded(value: string, unit: string): string {
  return grouped(value.includes('.') ? roundedTo(value, digitsOf(unit)) : value);
}

/** The width of names in pixels, which ECharts measures too small without a screen. */
function widthOf(names: readonly string[]): number {
  return 16 + Math.max(0, ...names.map((name) => stringWidth(name))) * LETTER_WIDTH;
}

const LETTER_WIDTH = 7;

/** Shortens a name to a third of the drawing at most. */
function nameIn(width: number, name: string): string {
  return shortened(name, Math.min(40, Math.floor(width / 3 / LETTER_WIDTH)));
}

function shortNumber(size: number): string {
  const [scaled, unit] =
    Math.abs(size) >= 1_000_000
      ? [size / 1_000_000, ' M']
      : Math.abs(size) >= 1000
        ? [size / 1000, ' k']
        : [size, ''];
  return `${Number(scaled.toPrecision(3))}${unit}`;
}
