export type Semaphore = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** Work must not wait for other work of the same semaphore: all slots could then be held by waiters. */
export function createSemaphore(atOnce: number): Semaphore {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work, signal) => {
    signal?.throwIfAborted();
    if (running >= atOnce) await freeSlot(waiting, signal);
    else running += 1;
    try {
      return await work();
    } finally {
      // The slot goes to the first in line, so that a later caller does not overtake it.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

function freeSlot(waiting: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const called = (): void => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    };
    const aborted = (): void => {
      waiting.splice(waiting.indexOf(called), 1);
      reject(signal?.reason);
    };
    waiting.push(called);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** @throws the first error, when the work in progress has ended; no further work starts after it */
export async function forEachBounded<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const rest = items.entries();
  let failure: { readonly error: unknown } | undefined;
  const runNext = async (): Promise<void> => {
    for (const [index, item] of rest) {
      try {
        await work(item, index);
      } catch (error) {
        failure ??= { error };
      }
      if (failure !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, runNext));
  if (failure !== undefined) throw failure.error;
}
