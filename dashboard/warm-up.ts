/**
 * Makes pages before somebody asks for them: after a start and after each publication, one at a time.
 *
 * Readers go first: while one waits for a page or has just asked for one, nothing is made, unless that goes on for long.
 * It rests three times as long as each page took, so that it never takes more than a quarter of the time, however often
 * a large file is published; a publication that comes meanwhile starts the list anew.
 */

import type { PageCache } from './page-cache.ts';

export interface WarmUp {
  /** Lets the page that is being made end, and makes no other. */
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;
const REST_FACTOR = 3;
/** So long readers without a pause keep a page from being made ahead; they may be asking for others. */
const PUT_OFF_MS = 10_000;

export interface WarmUpOptions {
  /** How often it looks whether the file was replaced, and for how long nobody has to have asked. */
  readonly everyMs?: number;
  readonly putOffMs?: number;
}

export function startWarmUp(
  cache: Pick<PageCache, 'due' | 'renew' | 'quietForMs'>,
  { everyMs = LOOK_EVERY_MS, putOffMs = PUT_OFF_MS }: WarmUpOptions = {},
): WarmUp {
  let isClosed = false;
  let running: Promise<void> = Promise.resolve();
  let owedSince: number | null = null;
  let timer = setTimeout(look, everyMs).unref();

  function look(): void {
    running = makeOne().then((tookMs) => {
      if (!isClosed) timer = setTimeout(look, Math.max(everyMs, tookMs * REST_FACTOR)).unref();
    });
  }

  /** @returns what it took; 0: there was nothing to make */
  async function makeOne(): Promise<number> {
    const [address] = await cache.due();
    const began = performance.now();
    owedSince = address === undefined ? null : (owedSince ?? began);
    if (address === undefined || owedSince === null) return 0;
    if (cache.quietForMs() < everyMs && began - owedSince < putOffMs) return 0;
    owedSince = null;
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
