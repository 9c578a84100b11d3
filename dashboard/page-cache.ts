/**
 * The published file is replaced as a whole, so a page is valid for one file and one day (`last-month` moves
 * with the day). After a replacement a reader waits a moment for the new page and then receives the former
 * one, with a note.
 */

import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export interface CachedPage<T> {
  readonly value: T;
  /** true: a newer file is published, and its page is not ready yet. */
  readonly isFormer: boolean;
}

export interface PageCacheOptions {
  /** How long a reader waits for the new page while a former one exists; 700 by default. */
  readonly patienceMs?: number;
  readonly now?: () => Date;
}

interface Made {
  readonly stamp: string;
  readonly promise: Promise<unknown>;
}

interface Page {
  make: () => Promise<unknown>;
  requestedAt: number | null;
  kept: { readonly stamp: string; readonly madeAt: number; readonly value: unknown } | null;
  making: Made | null;
  failedFor: string | null;
  readonly isFirst: boolean;
}

const MAX_PAGES = 200;
const MAX_RECENT = 6;
const PATIENCE_MS = 700;
/** After this time readers wait for the new page. */
const FORMER_FOR_MS = 15 * 60_000;
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

  function makingOf(page: Page, stamp: string): Promise<unknown> {
    if (page.making?.stamp === stamp) return page.making.promise;
    const promise = page.make();
    const own = { stamp, promise };
    page.making = own;
    promise
      .then((value) => {
        if (page.making === own) page.kept = { stamp, madeAt: Date.now(), value };
      })
      // The waiting readers receive the error; it is not kept.
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

  async function once<T>(
    made: Map<string, Made>,
    max: number,
    name: string,
    make: () => Promise<T>,
  ): Promise<T> {
    const stamp = await stampOf();
    const known = made.get(name);
    const own = known?.stamp === stamp ? known : { stamp, promise: make() };
    moveToEnd(made, name, own);
    for (const oldest of [...made.keys()].slice(0, -max)) made.delete(oldest);
    if (own !== known)
      own.promise.catch(() => {
        if (made.get(name) === own) made.delete(name);
      });
    return own.promise as Promise<T>;
  }

  return {
    page<T>(address: string, make: () => Promise<T>, { isPresent = false } = {}): Promise<CachedPage<T>> {
      lastReadAt = performance.now();
      return cached(address, make, isPresent).finally(() => {
        lastReadAt = performance.now();
      });
    },
    /** Does not wait; null: none is kept. From now on the page is made ahead. */
    peek<T>(address: string, make: () => Promise<T>): T | null {
      const page = pages.get(address) ?? newPage(make);
      page.requestedAt = Date.now();
      moveToEnd(pages, address, page);
      return (page.kept?.value as T | undefined) ?? null;
    },
    expire(prefix: string): void {
      for (const [address, page] of pages) if (address.startsWith(prefix)) page.kept = null;
    },
    /** For parts that pages share; never a former value. */
    present: <T>(name: string, make: () => Promise<T>) => once(parts, MAX_PAGES, name, make),
    recent: <T>(name: string, make: () => Promise<T>) => once(recent, MAX_RECENT, name, make),
    /** The page may be made before a reader requests it; the first one is made for every file. */
    offer(address: string, make: () => Promise<unknown>, { isFirst = false } = {}): void {
      if (!pages.has(address)) pages.set(address, newPage(make, isFirst));
    },
    /**
     * Pages requested in the last hour. Without any request only the first page, so that an unused dashboard
     * costs nothing.
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
    /** 0 while a page is being made, infinite before the first request. */
    quietForMs(): number {
      const isMaking = [...pages.values()].some(({ making }) => making !== null);
      return isMaking ? 0 : performance.now() - lastReadAt;
    },
    /** A page that failed is retried for the next file only. */
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

function moveToEnd<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}

function isActive({ requestedAt }: Page): boolean {
  return requestedAt !== null && Date.now() - requestedAt < ACTIVE_FOR_MS;
}

/** A page of another day may show another period. */
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
