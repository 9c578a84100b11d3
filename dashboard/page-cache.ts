/**
 * The published file is replaced as a whole, so a page is valid for one file and one day (`last-month` moves
 * with the day).
 */

import { identityOf } from '../lib/files/files.ts';

interface Page {
  kept: { readonly stamp: string; readonly value: unknown } | null;
  making: { readonly stamp: string; readonly promise: Promise<unknown> } | null;
}

const MAX_PAGES = 200;
const MAX_RECENT = 6;

export type PageCache = ReturnType<typeof createPageCache>;

export function createPageCache(publishedPath: string, now = () => new Date()) {
  const pages = new Map<string, Page>();
  const recent = new Map<string, Page>();

  async function stampOf(): Promise<string> {
    const found = await identityOf(publishedPath).catch(() => null);
    return found === null ? '' : `${now().toISOString().slice(0, 10)}/${found}`;
  }

  /** Concurrent requests of a page make it once. If that fails, all waiting readers receive the error, which is not kept. */
  function madeOnce<T>(page: Page, stamp: string, make: () => Promise<T>): Promise<T> {
    if (page.kept?.stamp === stamp) return Promise.resolve(page.kept.value as T);
    if (page.making?.stamp === stamp) return page.making.promise as Promise<T>;
    const own = { stamp, promise: make() };
    page.making = own;
    const end = (): void => {
      if (page.making === own) page.making = null;
    };
    own.promise.then((value) => {
      if (page.making === own) page.kept = { stamp, value };
      end();
    }, end);
    return own.promise;
  }

  const cachedIn =
    (kept: Map<string, Page>, max: number) =>
    async <T>(name: string, make: () => Promise<T>): Promise<T> => {
      const stamp = await stampOf();
      return madeOnce(newestPage(kept, max, name), stamp, make);
    };

  return {
    /** The cache of pages, and of parts that pages share. */
    present: cachedIn(pages, MAX_PAGES),
    /** The cache of large values, of which only the last few are kept. */
    recent: cachedIn(recent, MAX_RECENT),
    /** Returns the last value without waiting, and renews it for the next reader; null when none is kept. */
    async peek<T>(address: string, make: () => Promise<T>): Promise<T | null> {
      const stamp = await stampOf();
      const page = newestPage(pages, MAX_PAGES, address);
      madeOnce(page, stamp, make).catch(() => undefined);
      return (page.kept?.value as T | undefined) ?? null;
    },
    expire(prefix: string): void {
      for (const address of pages.keys()) if (address.startsWith(prefix)) pages.delete(address);
    },
  };
}

/** The requested page becomes the newest one; beyond the limit, the oldest is removed. */
function newestPage(pages: Map<string, Page>, max: number, address: string): Page {
  const page = pages.get(address) ?? { kept: null, making: null };
  pages.delete(address);
  pages.set(address, page);
  const oldest = pages.keys().next().value;
  if (pages.size > max && oldest !== undefined) pages.delete(oldest);
  return page;
}
