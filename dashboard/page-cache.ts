/**
 * Keeps pages that were made of the published file until it is replaced, and a little longer.
 *
 * The file never changes under its name, it is replaced as a whole; so a page made of one file stays right for as long
 * as that file is there, and the second reader of a slow page waits for the first instead of asking again. When the
 * file was replaced, a reader waits a moment for the new page and is then shown the former one, which says that it is.
 */

import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export interface PageCache {
  /**
   * The page of this address; `make` runs once for all who ask meanwhile, and again for each file that follows.
   * @param options.isPresent true: the page of the present file, however long it takes, since who asks could not be told
   */
  page<T>(
    address: string,
    make: () => Promise<T>,
    options?: { readonly isPresent?: boolean },
  ): Promise<Shown<T>>;
  /** The same, of the file that is published now and of no former one, once for each: for what pages are made of. */
  present<T>(name: string, make: () => Promise<T>): Promise<T>;
  /** As `present`, for what is large: only the few that were asked for last are kept. */
  recent<T>(name: string, make: () => Promise<T>): Promise<T>;
  /** Names a page that may be made once before anybody asks for it; the first one for every file that is looked at. */
  offer(address: string, make: () => Promise<unknown>, options?: { readonly isFirst?: boolean }): void;
  /**
   * Addresses worth making for the file that is published now, the most wanted first: those somebody asked for within
   * the hour. While nobody does, nothing but the first page, once, so that a dashboard that nobody opens costs nothing.
   */
  due(): Promise<readonly string[]>;
  /** Since a reader last asked for a page or was given one; 0 while one is being made, infinite when nobody ever asked. */
  quietForMs(): number;
  /** Makes a page of those for the present file; a failure is kept from being tried again until the next file. */
  renew(address: string): Promise<void>;
}

export interface Shown<T> {
  readonly value: T;
  /** true: a newer file is published, and its page is not ready yet. */
  readonly isFormer: boolean;
}

export interface PageCacheOptions {
  /** How long a reader waits for a page of the new file while there is one of the former; 700 ms by default. */
  readonly patienceMs?: number;
}

interface Part {
  readonly stamp: string;
  readonly promise: Promise<unknown>;
}

interface Page {
  make: () => Promise<unknown>;
  /** When somebody last asked; null: it was only offered. */
  askedAt: number | null;
  kept: { readonly stamp: string; readonly madeAt: number; readonly value: unknown } | null;
  making: { readonly stamp: string; readonly promise: Promise<unknown> } | null;
  /** The file of which it could not be made ahead. */
  failedFor: string | null;
  readonly isFirst: boolean;
}

const UNASKED = { askedAt: null, kept: null, making: null, failedFor: null, isFirst: false };

const MAX_PAGES = 200;
const MAX_RECENT = 6;
const PATIENCE_MS = 700;
/** Older pages are not shown any more; their reader waits, however long it takes. */
const SHOWN_AS_FORMER_MS = 15 * 60_000;
/** Nobody came back to a page for so long: it is not made ahead any more. */
const WANTED_FOR_MS = 60 * 60_000;
const MAX_WANTED = 20;

export function createPageCache(
  publishedPath: string,
  { patienceMs = PATIENCE_MS }: PageCacheOptions = {},
): PageCache {
  const pages = new Map<string, Page>();
  const parts = new Map<string, Part>();
  const recent = new Map<string, Part>();
  let lastReadAt = Number.NEGATIVE_INFINITY;

  /** Runs once for each file; the page is kept under the file that was there before, since it may have been replaced. */
  function making(page: Page, stamp: string): Promise<unknown> {
    if (page.making?.stamp === stamp) return page.making.promise;
    const promise = page.make();
    const own = { stamp, promise };
    page.making = own;
    promise
      .then((value) => {
        if (page.making === own) page.kept = { stamp, madeAt: Date.now(), value };
      })
      // A failure is told to those who waited for it, and not kept.
      .catch(() => undefined)
      .finally(() => {
        if (page.making === own) page.making = null;
      });
    return promise;
  }

  async function shown<T>(address: string, make: () => Promise<T>, isPresent: boolean): Promise<Shown<T>> {
    const stamp = await stampOf(publishedPath);
    const page = pages.get(address) ?? { ...UNASKED, make };
    page.make = make;
    page.askedAt = Date.now();
    // Taken out and put in again, so that the one nobody asked for longest stands first.
    pages.delete(address);
    pages.set(address, page);
    forget(pages, stamp);
    const { kept } = page;
    if (kept?.stamp === stamp) return { value: kept.value as T, isFormer: false };
    const made = making(page, stamp).then((value) => ({ value: value as T, isFormer: false }));
    if (isPresent || kept === null || Date.now() - kept.madeAt > SHOWN_AS_FORMER_MS) return made;
    const patience = new AbortController();
    const former = sleep(patienceMs, { value: kept.value as T, isFormer: true }, patience);
    return Promise.race([made, former]).finally(() => patience.abort());
  }

  return {
    page<T>(address: string, make: () => Promise<T>, { isPresent = false } = {}): Promise<Shown<T>> {
      lastReadAt = performance.now();
      return shown(address, make, isPresent).finally(() => {
        lastReadAt = performance.now();
      });
    },
    present: async <T>(name: string, make: () => Promise<T>) =>
      once(parts, { name, stamp: await stampOf(publishedPath), make, most: MAX_PAGES }),
    recent: async <T>(name: string, make: () => Promise<T>) =>
      once(recent, { name, stamp: await stampOf(publishedPath), make, most: MAX_RECENT }),
    offer(address, make, { isFirst = false } = {}) {
      if (!pages.has(address)) pages.set(address, { ...UNASKED, make, isFirst });
    },
    async due() {
      const stamp = await stampOf(publishedPath);
      if (stamp === '') return [];
      const all = [...pages];
      const wanted = all
        .filter(([, page]) => isWanted(page))
        .sort(([, one], [, other]) => (other.askedAt ?? 0) - (one.askedAt ?? 0))
        .slice(0, MAX_WANTED);
      const isWatched = wanted.length > 0;
      const first = all.filter(([, page]) => page.isFirst && (isWatched || page.kept === null));
      const offered = all.filter(([, page]) => isWatched && page.askedAt === null && page.kept === null);
      const due = [...first, ...wanted, ...offered].filter(
        ([, page]) => page.kept?.stamp !== stamp && page.failedFor !== stamp,
      );
      return [...new Set(due.map(([address]) => address))];
    },
    quietForMs() {
      const isMaking = [...pages.values()].some(({ making }) => making !== null);
      return isMaking ? 0 : performance.now() - lastReadAt;
    },
    async renew(address) {
      const page = pages.get(address);
      if (page === undefined) return;
      const stamp = await stampOf(publishedPath);
      if (page.kept?.stamp === stamp) return;
      await making(page, stamp).catch(() => {
        page.failedFor = stamp;
      });
    },
  };
}

interface Wanted<T> {
  readonly name: string;
  readonly stamp: string;
  readonly make: () => Promise<T>;
  /** The most recently requested pages are kept. */
  readonly most: number;
}

/** Pages of this file, finished or in progress. Failures are not kept. */
function once<T>(parts: Map<string, Part>, { name, stamp, make, most }: Wanted<T>): Promise<T> {
  const known = parts.get(name);
  const own = known?.stamp === stamp ? known : { stamp, promise: make() };
  // Taken out and put in again, so that the one nobody asked for longest stands first.
  parts.delete(name);
  parts.set(name, own);
  for (const oldest of [...parts.keys()].slice(0, -most)) parts.delete(oldest);
  if (own !== known)
    own.promise.catch(() => {
      if (parts.get(name) === own) parts.delete(name);
    });
  return own.promise as Promise<T>;
}

function isWanted({ askedAt }: Page): boolean {
  return askedAt !== null && Date.now() - askedAt < WANTED_FOR_MS;
}

/** Removes pages of replaced files, and the least recently requested pages above the limit. */
function forget(pages: Map<string, Page>, stamp: string): void {
  for (const [address, page] of pages) {
    const { kept } = page;
    const isPast = kept !== null && kept.stamp !== stamp && Date.now() - kept.madeAt > SHOWN_AS_FORMER_MS;
    if (isPast && !isWanted(page) && !page.isFirst && page.making === null) pages.delete(address);
  }
  const oldest = pages.keys().next().value;
  if (pages.size > MAX_PAGES && oldest !== undefined) pages.delete(oldest);
}

async function stampOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found ? `${found.dev}/${found.ino}/${found.mtimeNs}/${found.size}` : '';
}
