/**
 * Makes pages before readers request them, one at a time, and after each rests three times as long. Readers
 * come first: none is made while one waits or has just received a page, up to a limit.
 */

import { existsSync } from 'node:fs';
import { warmUpDrawing } from '../reports/render/charts.ts';
import { choicesOf } from './filter-form.ts';
import type { PageCache } from './page-cache.ts';
import type { PageContext } from './page-context.ts';

const CHECK_EVERY_MS = 1_000;
const REST_FACTOR = 3;
/** How long constant requests can delay a page. */
const MAX_DELAY_MS = 10_000;

export function startWarmUp(
  cache: Pick<PageCache, 'due' | 'renew' | 'quietForMs'>,
  /** `everyMs` is also the time without requests that counts as quiet. */
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
    async close(): Promise<void> {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** The first reader then does not wait for it. Never throws. */
export async function prepare(context: PageContext): Promise<void> {
  if (!existsSync(context.publishedPath)) return;
  await Promise.allSettled([choicesOf(context), warmUpDrawing()]);
}
