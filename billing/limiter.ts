/** Bounds how much goes on at once at one host, so that a burst of invoices does not become a burst of requests. */

import { createSemaphore, type Semaphore } from '../lib/semaphore.ts';

/** Runs `body` once a place is free, in order of asking. @throws the signal's reason when it aborts while waiting */
export type Limiter = <T>(key: string, signal: AbortSignal | undefined, body: () => Promise<T>) => Promise<T>;

export function createLimiter(maxPerKey: number): Limiter {
  const places = new Map<string, { users: number; readonly inTurn: Semaphore }>();

  return async (key, signal, body) => {
    const place = places.get(key) ?? { users: 0, inTurn: createSemaphore(maxPerKey) };
    places.set(key, place);
    place.users += 1;
    try {
      return await place.inTurn(body, signal);
    } finally {
      place.users -= 1;
      if (place.users === 0) places.delete(key);
    }
  };
}
