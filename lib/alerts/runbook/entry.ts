/** What a person on call needs when an alert comes; every alert that can be raised has an entry. */

/**
 * `critical`: figures or deliveries are at stake now. `warning`: somebody has to decide or fix something today.
 * `info`: for information; nothing has to be done.
 */
export type Severity = 'critical' | 'warning' | 'info';

/** Sentences are Markdown of the simplest kind: words, and commands between backticks. */
export interface RunbookEntry {
  readonly severity: Severity;
  /** What follows the name in the alert's key when there is one alert for each of many: an invoice, a reason. */
  readonly each?: string;
  /** It reports a past event that nothing undoes: it ends when a person acknowledges it (ADR 20). */
  readonly isNotice?: true;
  /** What has happened and what it does to deliveries and figures. */
  readonly meaning: string;
  readonly firstLook: readonly string[];
  readonly cure: readonly string[];
  /** How to tell that it is over. */
  readonly proof: string;
}
