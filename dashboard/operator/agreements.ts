/**
 * Offered actions that wait for confirmation. Their form contains only a token for one use, operator and
 * action, so another site cannot confirm, and a second click does nothing.
 */

import { randomBytes } from 'node:crypto';
import type { Offered } from '../plugin-pages.ts';

export interface Agreement extends Offered {
  readonly by: string;
  /** Called when the action is not confirmed in time; it removes the action's files and never throws. */
  forget?(): void;
}

const VALID_FOR_MS = 15 * 60_000;
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
    offer(agreement: Agreement): string {
      const token = randomBytes(24).toString('hex');
      open.set(token, { agreement, untilMs: nowMs() + VALID_FOR_MS });
      sweep();
      return token;
    },
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
