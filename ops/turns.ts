/** Lets only a few pieces of work run at once; the others wait in order. */

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Work must not wait for other work in turn inside itself: all turns could then be held by waiters. */
export function createTurns(atOnce: number): InTurn {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      // A turn is handed on without being given back, so that nobody who comes later overtakes.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
