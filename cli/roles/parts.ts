/** Parts of a role that were started in order and are closed in the opposite order, each even when another fails. */

import type { Logger } from '../../lib/log/log.ts';

export interface Parts {
  /** Remembers how to close what was just started. */
  add(name: string, close: () => Promise<void>): void;
  /** The same for what all others stand on: it is closed after them. */
  addLowest(name: string, close: () => Promise<void>): void;
  close(): Promise<void>;
}

export function createParts(log: Logger): Parts {
  const started: { readonly name: string; readonly close: () => Promise<void> }[] = [];
  return {
    add(name, close) {
      started.push({ name, close });
    },
    addLowest(name, close) {
      started.unshift({ name, close });
    },
    async close() {
      for (const part of started.splice(0).reverse()) {
        try {
          await part.close();
        } catch (error) {
          log.error({ err: error, part: part.name }, 'did not close in order');
        }
      }
    },
  };
}

/** Starts parts; when one does not start, those before it are closed again. */
export async function startParts<T>(log: Logger, start: (parts: Parts) => Promise<T>): Promise<T> {
  const parts = createParts(log);
  try {
    return await start(parts);
  } catch (error) {
    await parts.close();
    throw error;
  }
}
