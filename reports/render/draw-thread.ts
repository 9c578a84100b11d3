/**
 * The thread that draws. The chart library keeps names in plain objects, so a name can change its realm or end it: that of this thread,
 * which a new one replaces, and not that of the process that loads.
 */

import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { GRID_LINE, INK, PALETTE } from './chart-look.ts';
import { type Drawing, optionOf } from './chart-options.ts';
import type { Drawn, Wanted } from './draw-in-thread.ts';
import { escapeAttribute } from './templates.ts';

/** A tenant can be called `__proto__`; here that is a key like any other. */
Reflect.deleteProperty(Object.prototype, '__proto__');

/** In one file: chosen part by part it is 585, which took half a second of processor time. */
const echarts = createRequire(import.meta.url)(
  'echarts/dist/echarts.min.js',
) as typeof import('echarts/core');

parentPort?.on('message', ({ id, drawing }: Wanted) => {
  let drawn: Drawn;
  try {
    drawn = { id, svg: toSvg(drawing) };
  } catch (error) {
    drawn = { id, error: error instanceof Error ? error : new Error(String(error)) };
  }
  parentPort?.postMessage(drawn);
});

function toSvg(drawing: Drawing): string {
  const { width, title } = drawing;
  const [option, height] = optionOf(drawing);
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption(option);
    // The viewBox that ECharts writes lets the page scale it; the style block it adds is for animation only.
    return inPageColours(
      chart
        .renderToSVGString()
        .replace(
          /<svg width="\d+" height="\d+"/,
          () => `<svg role="img" aria-label="${escapeAttribute(title)}"`,
        )
        .replace(/<style[^>]*>[\s\S]*?<\/style>/g, '')
        .replace(/ class="[^"]*"/g, '')
        // A page with a strict content policy ignores style attributes; the same words as attributes are taken.
        .replace(/ style="([^"]*)"/g, (_, style: string) => attributesOf(style)),
    );
  } finally {
    chart.dispose();
  }
}

/** The page decides what a colour is, so that one drawing serves light and dark. */
function inPageColours(svg: string): string {
  return PALETTE.reduce(
    (drawn, colour, index) =>
      drawn.replaceAll(new RegExp(colour, 'gi'), `var(--chart-${index + 1}, ${colour})`),
    svg
      .replaceAll(new RegExp(INK, 'gi'), 'currentColor')
      .replaceAll(new RegExp(GRID_LINE, 'gi'), 'var(--line, #d8dee4)'),
  );
}

function attributesOf(style: string): string {
  return style
    .split(';')
    .map((declaration) => declaration.split(':').map((part) => part.trim()))
    .filter(([name, value]) => name !== undefined && value !== undefined && /^(font|fill|stroke)/.test(name))
    .map(([name, value]) => ` ${name}="${value}"`)
    .join('');
}
