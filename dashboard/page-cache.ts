/**
 * Keeps pages that were made of the published file until it is replaced.
 *
 * The file never changes under its name, it is replaced as a whole; so a page made of one file stays right for as long
 * as that file is there, and the second reader of a slow page waits for the first instead of asking again.
 */

import { stat } from 'node:fs/promises';

export interface PageCache {
  /** The page of this address for the file that is published now; `make` runs once for all who ask meanwhile. */
  page<T>(address: string, make: () => Promise<T>): Promise<T>;
}

const MOST_PAGES = 200;

export function createPageCache(publishedPath: string): PageCache {
  const pages = new Map<string, Promise<unknown>>();
  let stamp = '';

  return {
    async page<T>(address: string, make: () => Promise<T>): Promise<T> {
      const now = await stampOf(publishedPath);
      if (now !== stamp) pages.clear();
      stamp = now;
      const known = pages.get(address);
      if (known) return known as Promise<T>;
      const made = make();
      pages.set(address, made);
      // A failure is told to those who waited for it, and not kept.
      made.catch(() => {
        if (pages.get(address) === made) pages.delete(address);
      });
      const oldest = pages.keys().next().value;
      if (pages.size > MOST_PAGES && oldest !== undefined) pages.delete(oldest);
      return made;
    },
  };
}

async function stampOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found ? `${found.dev}/${found.ino}/${found.mtimeNs}/${found.size}` : '';
}
