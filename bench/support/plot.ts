/** What a bench found as a picture beside its table, drawn as SVG without a screen. */

import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { frame, INK, PALETTE } from '../../reports/render/chart-look.ts';
import { escapeHtml } from '../../reports/render/escape-html.ts';

export interface Plot {
  /** Of the file, without an ending. */
  readonly file: string;
  readonly title: string;
  readonly unit: string;
  readonly names: readonly string[];
  /** A value for each name, in `unit`. */
  readonly series: Readonly<Record<string, readonly number[]>>;
  /** A dashed line, where something is promised of all of them. */
  readonly atMost?: number;
  /** Bars lie, one for each name and series, unless they stand on each other; a line goes from name to name. */
  readonly kind?: 'bars' | 'stacked' | 'line';
}

const FOLDER = join(import.meta.dirname, '..', '..', '.cache', 'bench');
const WIDTH = 900;
const [TEXT, PAPER] = ['#1f2328', '#ffffff'];
const [ABOVE, BELOW, BAR, NAMES_WIDTH] = [70, 60, 22, 330];
const echarts = () =>
  createRequire(import.meta.url)('echarts/dist/echarts.min.js') as typeof import('echarts/core');

/** Writes `.cache/bench/<file>.svg`, which stands for itself on light and dark pages alike, and says where. */
export async function draw(plot: Plot): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const path = join(FOLDER, `${plot.file}.svg`);
  await writeFile(path, svgOf(plot));
  process.stdout.write(`Plot: ${path}\n`);
}

function svgOf({ title, unit, names, series, atMost, kind = 'bars' }: Plot): string {
  const many = Object.keys(series).length;
  const bars = names.length * (kind === 'stacked' ? 1 : many);
  const height = kind === 'line' ? 320 : ABOVE + BELOW + bars * BAR + names.length * BAR;
  const chart = echarts().init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  const lies = kind !== 'line';
  const values = {
    ...{ type: 'value', name: unit, nameLocation: 'middle', nameGap: 30, min: 0 },
    // Null: as the values ask for.
    max: ({ max }: { readonly max: number }) =>
      atMost === undefined || atMost <= max ? null : Math.ceil(atMost),
  };
  const places = {
    ...{ type: 'category', data: [...names], inverse: lies, axisTick: { show: false } },
    axisLabel: { width: NAMES_WIDTH, overflow: 'break' },
  };
  const limit = atMost === undefined ? [] : [lies ? { xAxis: atMost } : { yAxis: atMost }];
  const limitLabel = { formatter: 'promised', position: lies ? 'start' : 'insideStartTop' };
  const label =
    kind === 'stacked'
      ? { show: true, position: 'inside' }
      : { show: lies, position: 'right', backgroundColor: PAPER };
  chart.setOption({
    ...frame(),
    backgroundColor: PAPER,
    title: { text: title, left: 8, top: 6, textStyle: { fontSize: 15 } },
    legend: { show: many > 1, top: 32, left: 8 },
    grid: { left: lies ? 12 : 36, right: 48, top: ABOVE, bottom: BELOW - 24, containLabel: true },
    ...(lies ? { xAxis: values, yAxis: places } : { xAxis: places, yAxis: values }),
    series: Object.entries(series).map(([name, data], index) => ({
      ...{ name, type: lies ? 'bar' : 'line', data: data.map(shown) },
      ...{ barWidth: BAR - 6, label, ...(kind === 'stacked' ? { stack: 'all' } : {}) },
      itemStyle: { color: PALETTE[index % PALETTE.length] },
      ...(index === 0 && {
        markLine: {
          ...{ silent: true, symbol: 'none', z: 1, data: limit, label: limitLabel },
          lineStyle: { type: 'dashed', color: TEXT },
        },
      }),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg
    .replace(/<style[^>]*>[\s\S]*?<\/style>/g, '')
    .replace(/^<svg[^>]*>/, (tag) => `${tag}\n<title>${escapeHtml(title)}</title>`)
    .replaceAll(INK, TEXT);
}

/** Three digits; nothing is shown as nothing. */
function shown(value: number): number | null {
  return value === 0 ? null : Number(value.toPrecision(3));
}
