/** How every chart looks: its colours, its axes, and words that fit where they stand. */

import type { EChartsCoreOption } from 'echarts/core';
import stringWidth from 'string-width';
import { grouped } from './labels.ts';

/**
 * Okabe and Ito's palette, told apart by colour-blind people, darkened where it would be too faint on white. The page
 * replaces each by its variable `--chart-1` to `--chart-8`, which is lighter on a dark page.
 */
export const PALETTE = [
  '#0072B2',
  '#C27C00',
  '#008761',
  '#C44900',
  '#B85C95',
  '#3C8FC9',
  '#7A5C00',
  '#595959',
] as const;
/** The drawing replaces these by the page's own colours, so that one SVG serves light and dark. */
export const INK = '#123456';
export const GRID_LINE = '#654321';

export function frame(): EChartsCoreOption {
  return {
    animation: false,
    color: [...PALETTE],
    backgroundColor: 'transparent',
    textStyle: { fontFamily: FONT, color: INK },
  };
}

const FONT = 'system-ui, sans-serif';

export function valueAxis(unit: string): EChartsCoreOption {
  return {
    type: 'value',
    name: unit,
    nameLocation: 'middle',
    nameGap: 26,
    nameTextStyle: { color: INK },
    splitLine: { lineStyle: { color: GRID_LINE } },
  };
}

export function categoryAxis(names: readonly string[]): EChartsCoreOption {
  return {
    type: 'category',
    data: [...names],
    axisLabel: { color: INK, hideOverlap: true },
    axisLine: { lineStyle: { color: INK } },
    axisTick: { show: false },
  };
}

/** Pixels that the names beside an axis take; without a screen ECharts measures them too small. */
export function reserveDiskSpace(names: readonly string[]): number {
  return 16 + Math.max(0, ...names.map((name) => stringWidth(name))) * LETTER_WIDTH;
}

export const LETTER_WIDTH = 7;

/** A name that takes at most a third of the drawing. */
export function cut(name: string, width: number): string {
  const most = Math.min(40, Math.floor(width / 3 / LETTER_WIDTH));
  if (stringWidth(name) <= most) return name;
  let kept = '';
  for (const letter of name) {
    if (stringWidth(kept + letter) > most - 1) break;
    kept += letter;
  }
  return `${kept}…`;
}

/** Cents are enough for the eye where there is nothing behind them; more digits stay. */
export function amountLabel(value: string): string {
  return grouped(value.replace(/(\.\d\d)0+$/, '$1'));
}

/** Axis and cell labels: 1.2 M instead of 1200000. The exact number stands in the table. */
export function short(value: number | string): string {
  const size = Number(value);
  if (Math.abs(size) >= 1_000_000) return `${trimmed(size / 1_000_000)} M`;
  if (Math.abs(size) >= 1000) return `${trimmed(size / 1000)} k`;
  return trimmed(size);
}

/** Three digits, or all of those before the point. */
function trimmed(size: number): string {
  return String(Number(size.toFixed(Math.abs(size) >= 100 ? 0 : Math.abs(size) >= 10 ? 1 : 2)));
}
