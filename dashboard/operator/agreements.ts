/**
 * What was shown to an operator and waits for agreement. A form carries nothing but a word that is good once, for that
 * operator and what was shown: another site cannot know it, a second press does nothing, and what is agreed to is what is
 * done.
 */

import { randomBytes } from 'node:crypto';
import type { Offered } from '../guest-pages.ts';

export interface Agreement extends Offered {
  readonly by: string;
  /** Removes temporary work when the action is not confirmed. Never throws. */
  forget?(): void;
}

export interface Agreements {
  /** @returns the word */
  offer(agreement: Agreement): string;
  /** null: it is unknown, of somebody else, used, or too old. */
  take(word: string, by: string): Agreement | null;
  close(): Promise<void>;
}

const GOOD_FOR_MS = 15 * 60_000;
/** Limits per operator; the oldest is dropped first, with its file. */
const MAX_AGREEMENTS = 200;

export function createAgreements(nowMs: () => number = () => performance.now()): Agreements {
  const open = new Map<string, { readonly agreement: Agreement; readonly untilMs: number }>();

  function forget(word: string, agreement: Agreement): void {
    open.delete(word);
    agreement.forget?.();
  }

  function sweep(): void {
    for (const [word, { agreement, untilMs }] of open) {
      if (untilMs <= nowMs() || open.size > MAX_AGREEMENTS) forget(word, agreement);
    }
  }

  return {
    offer(agreement) {
      const word = randomBytes(24).toString('hex');
      open.set(word, { agreement, untilMs: nowMs() + GOOD_FOR_MS });
      sweep();
      return word;
    },
    take(word, by) {
      sweep();
      const found = open.get(word);
      if (found === undefined || found.agreement.by !== by) return null;
      open.delete(word);
      return found.agreement;
    },
    async close() {
      for (const [word, { agreement }] of open) forget(word, agreement);
    },
  };
}
