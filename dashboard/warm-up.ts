/**
 * Makes pages before somebody asks for them: after a start and after each publication, one at a time.
 *
 * It rests three times as long as each page took, so that it never takes more than a quarter of the time, however often
 * a large file is published; a publication that comes meanwhile starts the list anew.
 */

import type { PageCache } from './page-cache.js';

export interface WarmUp {
  /** Lets the page that is being made end, and makes no other. */
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;
const REST_FACTOR = 3;

/** @param everyMs how often it looks whether the file was replaced */
export function startWarmUp(
  cache: Pick<PageCache, 'due' | 'renew'>,
  { everyMs = LOOK_EVERY_MS }: { readonly everyMs?: number } = {},
): WarmUp {
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();
  // Whoever starts it may look at once.
  let timer = setTimeout(look, 0).unref();

  function look(): void {
    running = makeOne().then((tookMs) => {
      if (!isClosed) timer = setTimeout(look, Math.max(everyMs, tookMs * REST_FACTOR)).unref();
    });
  }

  /** @returns what it took; 0: there was nothing to make */
  async function makeOne(): Promise<number> {
    const [address] = await cache.due();
    if (address === undefined) return 0;
    const began = performance.now();
    await cache.renew(address);
    return performance.now() - began;
  }

  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
