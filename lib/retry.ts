import { setTimeout as sleep } from 'node:timers/promises';

/** @throws the error of the last attempt, or the first one that does not pass by itself */
export async function retry<T>(
  work: () => Promise<T>,
  options: {
    readonly attempts: number;
    readonly pauseMs: number;
    readonly passes: (error: unknown) => boolean;
  },
): Promise<T> {
  for (let left = options.attempts - 1; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left === 0 || !options.passes(error)) throw error;
      await sleep(options.pauseMs);
    }
  }
}
