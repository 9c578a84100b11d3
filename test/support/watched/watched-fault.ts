/** A fault that is injected into a running billsync, and by which alert it has to be told. */

import type { AlertName } from '../../../lib/alerts/runbook/runbook.ts';
import type { Sandbox } from '../../../sandbox/service.ts';
import type { Product } from '../processes/product.ts';

export interface Stage {
  readonly sandbox: Sandbox;
  readonly product: Product;
}

export interface WatchedFault<Where extends Stage = Stage> {
  readonly name: string;
  /** What was done to it, for the table. */
  readonly what: string;
  readonly alert: AlertName;
  /** A line of `/metrics` besides that of the open alert, as a regular expression. */
  readonly metric: string;
  /** How long it may go unsaid, in milliseconds; missing: as long as the others. */
  readonly withinMs?: number;
  /** @returns the invoice that it strikes; null: it strikes none in particular */
  readonly inject: (stage: Where) => Promise<string | null>;
  /**
   * Takes the fault away, as who is to blame for it would, and does what the runbook says: its commands, by its words.
   * What others raise by themselves is over by itself.
   */
  readonly cure: (stage: Where, told: ToldAlert) => Promise<void>;
}

/** The alert that told of a fault. */
export interface ToldAlert {
  readonly key: string;
  readonly invoiceId: string;
}
