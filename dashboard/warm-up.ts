/**
 * Makes pages before readers request them: after a start and after each publication, one at a time.
 *
 * Readers come first: while one waits for a page or has just received one, none is made, up to a limit. After each page it rests
 * three times as long as the page took, so it takes at most a quarter of the time.
 */

import { existsSync } from 'node:fs';
import { warmUpDrawing } from '../reports/render/charts.ts';
import { choicesOf } from './filter-form.ts';
import type { PageCache } from './page-cache.ts';
import { countedOf, type PageContext } from './page-context.ts';

const CHECK_EVERY_MS = 1_000;
const REST_FACTOR = 3;
/** How long constant requests can delay a page. */
const MAX_DELAY_MS = 10_000;

export function startWarmUp(
  cache: Pick<PageCache, 'due' | 'renew' | 'quietForMs'>,
  /** How often the file is checked, and how long without requests counts as quiet. */
  { everyMs = CHECK_EVERY_MS, maxDelayMs = MAX_DELAY_MS } = {},
) {
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();
  let dueSince: number | null = null;
  let timer = setTimeout(check, everyMs).unref();

  function check(): void {
    running = makeOne().then((tookMs) => {
      if (!isClosed) timer = setTimeout(check, Math.max(everyMs, tookMs * REST_FACTOR)).unref();
    });
  }

  /** @returns the time it took; 0: there was nothing to make */
  async function makeOne(): Promise<number> {
    const [address] = await cache.due();
    const began = performance.now();
    dueSince = address === undefined ? null : (dueSince ?? began);
    if (address === undefined || dueSince === null) return 0;
    if (cache.quietForMs() < everyMs && began - dueSince < maxDelayMs) return 0;
    dueSince = null;
    await cache.renew(address);
    return performance.now() - began;
  }

  return {
    /** Waits for the page that is being made, and makes no other. */
    async close(): Promise<void> {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Reads what every page needs and compiles the drawing code, so that the first reader does not wait for it. Never throws. */
export async function prepare(context: PageContext): Promise<void> {
  if (!existsSync(context.publishedPath)) return;
  await Promise.allSettled([choicesOf(context), countedOf(context), warmUpDrawing()]);
}
