/**
 * Keeps pages that were made of the published file until it is replaced, and a little longer.
 *
 * The file is replaced as a whole, so a page stays right as long as the file and the day are the same (`last-month` means another
 * month tomorrow), and the second reader of a slow page waits for the first. When the file was replaced, a reader waits a moment
 * for the new page and then gets the former one, with a note.
 */

import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export interface CachedPage<T> {
  readonly value: T;
  /** true: a newer file is published, and its page is not ready yet. */
  readonly isFormer: boolean;
}

export interface PageCacheOptions {
  /** How long a reader waits for a page of the new file while there is one of the former; 700 ms by default. */
  readonly patienceMs?: number;
  readonly now?: () => Date;
}

interface Made {
  /** Day and file, see `stampOf`. */
  readonly stamp: string;
  readonly promise: Promise<unknown>;
}

interface Page {
  make: () => Promise<unknown>;
  /** When a reader last requested it; null: it was only offered. */
  requestedAt: number | null;
  kept: { readonly stamp: string; readonly madeAt: number; readonly value: unknown } | null;
  making: Made | null;
  /** The stamp for which it could not be made ahead. */
  failedFor: string | null;
  readonly isFirst: boolean;
}

const MAX_PAGES = 200;
const MAX_RECENT = 6;
const PATIENCE_MS = 700;
/** Readers of older pages wait for the new one. */
const FORMER_FOR_MS = 15 * 60_000;
/** Pages without a reader for this long are not made ahead. */
const ACTIVE_FOR_MS = 60 * 60_000;
const MAX_ACTIVE = 20;

export type PageCache = ReturnType<typeof createPageCache>;

export function createPageCache(
  publishedPath: string,
  { patienceMs = PATIENCE_MS, now = () => new Date() }: PageCacheOptions = {},
) {
  const pages = new Map<string, Page>();
  const parts = new Map<string, Made>();
  const recent = new Map<string, Made>();
  let lastReadAt = Number.NEGATIVE_INFINITY;

  async function stampOf(): Promise<string> {
    const found = await stat(publishedPath, { bigint: true }).catch(() => null);
    const day = now().toISOString().slice(0, 10);
    return found ? `${day}/${found.dev}/${found.ino}/${found.mtimeNs}/${found.size}` : '';
  }

  /** Runs once for each stamp. The stamp was taken before, since the file may be replaced meanwhile. */
  function makingOf(page: Page, stamp: string): Promise<unknown> {
    if (page.making?.stamp === stamp) return page.making.promise;
    const promise = page.make();
    const own = { stamp, promise };
    page.making = own;
    promise
      .then((value) => {
        if (page.making === own) page.kept = { stamp, madeAt: Date.now(), value };
      })
      // The readers who wait get the error; it is not kept.
      .catch(() => undefined)
      .finally(() => {
        if (page.making === own) page.making = null;
      });
    return promise;
  }

  async function cached<T>(
    address: string,
    make: () => Promise<T>,
    isPresent: boolean,
  ): Promise<CachedPage<T>> {
    const stamp = await stampOf();
    const page = pages.get(address) ?? newPage(make);
    page.make = make;
    page.requestedAt = Date.now();
    moveToEnd(pages, address, page);
    removeOld(pages, stamp);
    const { kept } = page;
    if (kept?.stamp === stamp) return { value: kept.value as T, isFormer: false };
    const made = makingOf(page, stamp).then((value) => ({ value: value as T, isFormer: false }));
    if (isPresent || kept === null || !isUsable(kept, stamp)) return made;
    const patience = new AbortController();
    const former = sleep(patienceMs, { value: kept.value as T, isFormer: true }, patience);
    return Promise.race([made, former]).finally(() => patience.abort());
  }

  return {
    /**
     * The page of this address; `make` runs once for concurrent readers, and again for each file and day.
     * @param options.isPresent true: waits for the page of the present file, for readers who would not see the note
     */
    page<T>(address: string, make: () => Promise<T>, { isPresent = false } = {}): Promise<CachedPage<T>> {
      lastReadAt = performance.now();
      return cached(address, make, isPresent).finally(() => {
        lastReadAt = performance.now();
      });
    },
    /** The kept page, without waiting; null: none is kept. From now on the page is made ahead. */
    peek<T>(address: string, make: () => Promise<T>): T | null {
      const page = pages.get(address) ?? newPage(make);
      page.requestedAt = Date.now();
      moveToEnd(pages, address, page);
      return (page.kept?.value as T | undefined) ?? null;
    },
    /** Removes values of addresses with this prefix, which are then made again. */
    expire(prefix: string): void {
      for (const [address, page] of pages) if (address.startsWith(prefix)) page.kept = null;
    },
    /** As `page`, for parts that pages share, of the present file only. */
    present: async <T>(name: string, make: () => Promise<T>) =>
      once(parts, { name, stamp: await stampOf(), make, max: MAX_PAGES }),
    /** As `present`, for large values: only the few last requested ones are kept. */
    recent: async <T>(name: string, make: () => Promise<T>) =>
      once(recent, { name, stamp: await stampOf(), make, max: MAX_RECENT }),
    /** Names a page that may be made before a reader requests it; the first one for every file. */
    offer(address: string, make: () => Promise<unknown>, { isFirst = false } = {}): void {
      if (!pages.has(address)) pages.set(address, newPage(make, isFirst));
    },
    /**
     * Addresses to make ahead for the present file, the last requested first: those of the last hour. Without any request only the
     * first page, once, so that an unused dashboard costs nothing.
     */
    async due(): Promise<readonly string[]> {
      const stamp = await stampOf();
      if (stamp === '') return [];
      const all = [...pages];
      const active = all
        .filter(([, page]) => isActive(page))
        .sort(([, one], [, other]) => (other.requestedAt ?? 0) - (one.requestedAt ?? 0))
        .slice(0, MAX_ACTIVE);
      const hasReaders = active.length > 0;
      const first = all.filter(([, page]) => page.isFirst && (hasReaders || page.kept === null));
      const offered = all.filter(([, page]) => hasReaders && page.requestedAt === null && page.kept === null);
      const due = [...first, ...active, ...offered].filter(
        ([, page]) => page.kept?.stamp !== stamp && page.failedFor !== stamp,
      );
      return [...new Set(due.map(([address]) => address))];
    },
    /** Since the last request or answer; 0 while a page is being made, infinite before the first request. */
    quietForMs(): number {
      const isMaking = [...pages.values()].some(({ making }) => making !== null);
      return isMaking ? 0 : performance.now() - lastReadAt;
    },
    /** Makes an offered or requested page for the present file; a failed one is retried for the next file. */
    async renew(address: string): Promise<void> {
      const page = pages.get(address);
      if (page === undefined) return;
      const stamp = await stampOf();
      if (page.kept?.stamp === stamp) return;
      await makingOf(page, stamp).catch(() => {
        page.failedFor = stamp;
      });
    },
  };
}

function newPage(make: () => Promise<unknown>, isFirst = false): Page {
  return { make, requestedAt: null, kept: null, making: null, failedFor: null, isFirst };
}

function once<T>(
  parts: Map<string, Made>,
  {
    name,
    stamp,
    make,
    max,
  }: { readonly name: string; readonly stamp: string; readonly make: () => Promise<T>; readonly max: number },
): Promise<T> {
  const known = parts.get(name);
  const own = known?.stamp === stamp ? known : { stamp, promise: make() };
  moveToEnd(parts, name, own);
  for (const oldest of [...parts.keys()].slice(0, -max)) parts.delete(oldest);
  if (own !== known)
    own.promise.catch(() => {
      if (parts.get(name) === own) parts.delete(name);
    });
  return own.promise as Promise<T>;
}

/** The first in the map is then the one that was not requested for longest. */
function moveToEnd<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}

function isActive({ requestedAt }: Page): boolean {
  return requestedAt !== null && Date.now() - requestedAt < ACTIVE_FOR_MS;
}

/** Whether a former page may be sent: not of another day, on which its period may be another, and not too old. */
function isUsable(kept: NonNullable<Page['kept']>, stamp: string): boolean {
  return kept.stamp.slice(0, 10) === stamp.slice(0, 10) && Date.now() - kept.madeAt <= FORMER_FOR_MS;
}

function removeOld(pages: Map<string, Page>, stamp: string): void {
  for (const [address, page] of pages) {
    const { kept, isFirst, making } = page;
    const isPast = kept !== null && kept.stamp !== stamp && !isUsable(kept, stamp);
    if (isPast && !isActive(page) && !isFirst && making === null) pages.delete(address);
  }
  const oldest = pages.keys().next().value;
  if (pages.size > MAX_PAGES && oldest !== undefined) pages.delete(oldest);
}
