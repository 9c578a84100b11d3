/** What a person needs at night when an alert comes; every alert that can be raised has it. */

/**
 * `critical`: figures or deliveries are at stake now. `warning`: somebody has to decide or mend something today.
 * `info`: it is told and asks for nothing.
 */
export type Severity = 'critical' | 'warning' | 'info';

/** Sentences are Markdown of the simplest kind: words, and commands between backticks. */
export interface RunbookEntry {
  readonly severity: Severity;
  /** What follows the name in the alert's key when there is one alert for each of many: an invoice, a reason. */
  readonly each?: string;
  /** It tells of something that happened, which nothing undoes: it is over once a person has acknowledged it (ADR 31). */
  readonly isNotice?: true;
  /** What has happened and what it does to deliveries and figures. */
  readonly meaning: string;
  readonly firstLook: readonly string[];
  readonly cure: readonly string[];
  /** How one sees that it is over. */
  readonly proof: string;
}
