/**
 * Offered actions that wait for confirmation. A form contains only a token, valid once, for one operator and one action: another site
 * cannot know it, a second click does nothing, and the confirmed action is the one that runs.
 */

import { randomBytes } from 'node:crypto';
import type { Offered } from '../plugin-pages.ts';

export interface Agreement extends Offered {
  readonly by: string;
  /** Removes temporary work when the action is not confirmed. Never throws. */
  forget?(): void;
}

const VALID_FOR_MS = 15 * 60_000;
/** Limits per operator; the oldest is dropped first, with its file. */
const MAX_AGREEMENTS = 200;

export function createAgreements(nowMs: () => number = () => performance.now()) {
  const open = new Map<string, { readonly agreement: Agreement; readonly untilMs: number }>();

  function forget(token: string, agreement: Agreement): void {
    open.delete(token);
    agreement.forget?.();
  }

  function sweep(): void {
    for (const [token, { agreement, untilMs }] of open) {
      if (untilMs <= nowMs() || open.size > MAX_AGREEMENTS) forget(token, agreement);
    }
  }

  return {
    /** @returns the token */
    offer(agreement: Agreement): string {
      const token = randomBytes(24).toString('hex');
      open.set(token, { agreement, untilMs: nowMs() + VALID_FOR_MS });
      sweep();
      return token;
    },
    /** null: the token is unknown, of another operator, used, or too old. */
    take(token: string, by: string): Agreement | null {
      sweep();
      const found = open.get(token);
      if (found === undefined || found.agreement.by !== by) return null;
      open.delete(token);
      return found.agreement;
    },
    async close(): Promise<void> {
      for (const [token, { agreement }] of open) forget(token, agreement);
    },
  };
}
