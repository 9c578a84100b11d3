/**
 * The thread that draws. The chart library keeps names in plain objects, so a name can change or end the realm that it runs in:
 * that of this thread, which a new one replaces, and not that of the process that loads.
 */

import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import type { DrawingRequest, DrawingResult, NumberedRequest } from './draw-in-thread.ts';
import { escapeAttribute } from './templates.ts';

/** A tenant can be called `__proto__`; here that is a key like any other. */
Reflect.deleteProperty(Object.prototype, '__proto__');

/** The build in one file: the modules that charts need are 585, which take half a second of processor time. */
const echarts = createRequire(import.meta.url)(
  'echarts/dist/echarts.min.js',
) as typeof import('echarts/core');

parentPort?.on('message', ({ id, ...request }: NumberedRequest) => {
  let result: DrawingResult;
  try {
    result = { id, svg: toSvg(request) };
  } catch (error) {
    result = { id, error: error instanceof Error ? error : new Error(String(error)) };
  }
  parentPort?.postMessage(result);
});

function toSvg({ option, width, height, title }: DrawingRequest): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption(option);
    // The viewBox that ECharts writes lets the page scale it; its style block is for animation only.
    return (
      chart
        .renderToSVGString()
        .replace(
          /<svg width="\d+" height="\d+"/,
          () => `<svg role="img" aria-label="${escapeAttribute(title)}"`,
        )
        .replace(/<style[^>]*>[\s\S]*?<\/style>/g, '')
        .replace(/ class="[^"]*"/g, '')
        // A page with a strict content policy ignores style attributes; presentation attributes are accepted.
        .replace(/ style="([^"]*)"/g, (_, style: string) => attributesOf(style))
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
