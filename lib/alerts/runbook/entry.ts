/**
 * `critical`: totals or deliveries are affected now. `warning`: a person has to decide or fix something today.
 * `info`: for information; nothing has to be done.
 */
export type Severity = 'critical' | 'warning' | 'info';

/** Sentences are simple Markdown: text, and commands between backticks. */
export interface RunbookEntry {
  readonly severity: Severity;
  readonly each?: string;
  /**
   * `machine`: an alert for each machine. `process`: one alert, over when no process has its cause. By default any
   * process ends it.
   */
  readonly scope?: 'machine' | 'process';
  /** Only a person's acknowledgement ends it (ADR 20). */
  readonly isNotice?: true;
  readonly meaning: string;
  readonly firstLook: readonly string[];
  readonly cure: readonly string[];
  readonly proof: string;
}
