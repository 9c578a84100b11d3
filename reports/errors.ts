/** What can go wrong with a report, one class for each thing a caller does differently about it. */

/** The file analysts read is not there yet: nothing was ever published (exit 3). */
export class NotPublishedError extends Error {
  override readonly name = 'NotPublishedError';
  readonly code = 'not-published';
  readonly path: string;
  constructor(path: string) {
    super(`Nothing is published yet: ${path} does not exist. Load an invoice, or run "billsync snapshot".`);
    this.path = path;
  }
}

/** No report has this name; `suggestions` are the nearest that exist. */
export class ReportNotFoundError extends Error {
  override readonly name = 'ReportNotFoundError';
  readonly code = 'report-not-found';
  readonly suggestions: readonly string[];
  constructor(asked: string, suggestions: readonly string[]) {
    const hint = suggestions.length > 0 ? ` Did you mean ${suggestions.join(' or ')}?` : '';
    super(`There is no report "${asked}".${hint} "billsync report" lists them all.`);
    this.suggestions = suggestions;
  }
}

/** A filter or parameter has a value that cannot be meant; the message names both. */
export class ReportFilterError extends Error {
  override readonly name = 'ReportFilterError';
  readonly code = 'invalid-filter';
  readonly filter: string;
  constructor(filter: string, message: string) {
    super(message);
    this.filter = filter;
  }
}

/** The time limit ran out and the query was stopped (exit 1). */
export class ReportInterruptedError extends Error {
  override readonly name = 'ReportInterruptedError';
  readonly code = 'interrupted';
  readonly report: string;
  readonly timeLimitMs: number;
  constructor(report: string, timeLimitMs: number) {
    super(
      `Report ${report} was stopped at its limit of ${timeLimitMs / 1000} s. Narrow it (from, to, tenant) or raise the limit.`,
    );
    this.report = report;
    this.timeLimitMs = timeLimitMs;
  }
}
