/**
 * What the SDK wants to be known while it makes a call: the namespace, as a header. It keeps that in an AsyncLocalStorage, which makes
 * every promise of the process dearer once it was used, and reads it before its function returns; so nothing more is kept here.
 */

import type { Connection } from '@temporalio/client';

/** `withDeadline` and `withAbortSignal` then cover only calls that are made before their function first waits. */
export function keepContextWhileCalling({ callContextStorage: storage }: Connection): void {
  // Connecting left it enabled.
  storage.disable();
  let current = storage.getStore();
  storage.getStore = () => current;
  storage.run = <R, Args extends unknown[]>(
    context: typeof current,
    work: (...args: Args) => R,
    ...args: Args
  ): R => {
    const before = current;
    current = context;
    try {
      return work(...args);
    } finally {
      current = before;
    }
  };
}
