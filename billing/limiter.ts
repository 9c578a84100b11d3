/** Bounds how much goes on at once at one host, so that a burst of invoices does not become a burst of requests. */

/** Runs `body` once a place is free, in order of asking. @throws the signal's reason when it aborts while waiting */
export type Limiter = <T>(key: string, signal: AbortSignal | undefined, body: () => Promise<T>) => Promise<T>;

export function createLimiter(maxPerKey: number): Limiter {
  const places = new Map<string, { taken: number; readonly waiting: (() => void)[] }>();

  return async (key, signal, body) => {
    const place = places.get(key) ?? { taken: 0, waiting: [] };
    places.set(key, place);
    signal?.throwIfAborted();
    if (place.taken >= maxPerKey) await turn(place.waiting, signal);
    else place.taken++;
    try {
      return await body();
    } finally {
      // A place goes straight to the next in line; nobody can slip in between.
      const next = place.waiting.shift();
      if (next !== undefined) next();
      else if (--place.taken === 0) places.delete(key);
    }
  };
}

function turn(waiting: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
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
