/** The type of a runbook entry; every alert has one. */

/**
 * `critical`: totals or deliveries are affected now. `warning`: a person has to decide or fix something today.
 * `info`: for information; nothing has to be done.
 */
export type Severity = 'critical' | 'warning' | 'info';

/** Sentences are simple Markdown: text, and commands between backticks. */
export interface RunbookEntry {
  readonly severity: Severity;
  /** The second part of the key when there is one alert per item: an invoice, a reason. */
  readonly each?: string;
  /**
   * With several machines: `machine`, each machine has an alert of its own; `process`, one alert that is over when no process has its
   * cause any more; by default one alert that any process ends.
   */
  readonly scope?: 'machine' | 'process';
  /** It reports a past event that nothing undoes: it ends when a person acknowledges it (ADR 20). */
  readonly isNotice?: true;
  /** The condition, and its effect on deliveries and totals. */
  readonly meaning: string;
  readonly firstLook: readonly string[];
  readonly cure: readonly string[];
  /** How to see that it is over. */
  readonly proof: string;
}
