/** Faults that no test can notice, with the reason. `npm run mutants` does not draw them. */

export interface Equivalent {
  readonly file: string;
  /** Part of the line. */
  readonly code: string;
  readonly kind: string;
  readonly why: string;
}

export const EQUIVALENT: readonly Equivalent[] = [];
