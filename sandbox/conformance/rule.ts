/** What a rule of the suite is: a sentence of the specification, and a way to see whether a service keeps it. */
import type { SuiteContext } from './suite-context.ts';

export type Verdict = 'pass' | 'fail' | 'skipped';

/** A line of the report. */
export interface Row {
  /** Section of the specification, as `6.7` or `2.5`. */
  readonly section: string;
  /** Stable name, for `--only` and for scripts. */
  readonly id: string;
  readonly rule: string;
  readonly verdict: Verdict;
  /** What was seen; for a skipped rule why it was skipped. */
  readonly seen: string;
}

export interface Rule {
  readonly section: string;
  readonly id: string;
  readonly rule: string;
  /** Seconds it waits by design; such rules start first. */
  readonly slow?: number;
  /**
   * Resolves with what was seen when the rule holds.
   *
   * @throws BrokenRuleError the service does otherwise
   * @throws SkippedRuleError it cannot be checked here, for instance because it would change a real account
   */
  readonly check: (context: SuiteContext) => Promise<string>;
}

/** The service does otherwise; the message says what was seen. */
export class BrokenRuleError extends Error {
  override readonly name = 'BrokenRuleError';
}

/** The rule cannot be checked here; the message says why. */
export class SkippedRuleError extends Error {
  override readonly name = 'SkippedRuleError';
}

export function broken(seen: string): never {
  throw new BrokenRuleError(seen);
}

export function hold(condition: boolean, seen: string): asserts condition {
  if (!condition) broken(seen);
}

/** Holds that nothing is wrong; the complaints are what was seen otherwise. */
export function holdAll(complaints: readonly string[]): void {
  if (complaints.length > 0) broken(complaints.join('; '));
}
