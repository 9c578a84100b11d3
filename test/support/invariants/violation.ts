/** What the checks of the nine invariants are given, and what they answer. */

import type { Client } from '@temporalio/client';

export type InvariantName = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9';

export interface Violation {
  readonly invariant: InvariantName;
  readonly what: string;
}

/** What was really billed, from the service's own books. */
export interface Truth {
  /** A row per shipment of every invoice that counts; the decimal is exact text. */
  readonly billed: readonly BilledRow[];
  readonly voided: readonly string[];
  /** Answered with 2xx, and to be acted on (no test events, no refused ones). */
  readonly acknowledged: readonly string[];
}

export interface BilledRow {
  readonly invoiceId: string;
  readonly tenant: string;
  readonly carrier: string;
  readonly currencyCode: string;
  readonly billingCost: string;
}

export interface InvariantOptions {
  readonly dataDir: string;
  readonly truth: Truth;
  /** Where the roles' logs lie; searched for secrets and warnings. */
  readonly logFolder?: string;
  /** null: Temporal was not part of the test, I7 then looks at the logs alone. */
  readonly client: Client | null;
  /** Texts that must be nowhere, at least eight characters each. */
  readonly secrets?: readonly string[];
  readonly now?: () => Date;
}

export function broken(invariant: InvariantName, what: string): Violation {
  return { invariant, what };
}
