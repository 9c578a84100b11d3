/** Errors of reports: one class for each cause that callers handle differently. */

import { UnreadableFileError } from '../lib/files/published-file.ts';
import { BillsyncError, EXIT } from '../lib/wire/errors.ts';

/** The file analysts read is not there yet: nothing was ever published. */
export class NotPublishedError extends BillsyncError {
  readonly code = 'not-published';
  override readonly exitCode = EXIT.nothingMatched;
  readonly path: string;
  constructor(path: string) {
    super(`Nothing is published yet: ${path} does not exist. Load an invoice, or run "billsync snapshot".`);
    this.path = path;
  }
}

/** The file was published by a version of billsync that knew other views or columns. */
export class OtherVersionFileError extends UnreadableFileError {
  readonly code = 'published-by-another-version';
}

/** How DuckDB's messages begin when a file lacks a table, view, macro or column. */
const IS_MISSING =
  /^(?:Catalog|Binder) Error: ([^\n]*(?:does not exist|not found|does not have a column)[^\n]*)/;

/**
 * Every file that this version publishes has all tables and columns that are read, so a missing one means another version.
 *
 * @returns an OtherVersionFileError, or the error as it came when it means something else
 */
export function asOtherVersion(error: unknown, path: string): unknown {
  const missing = error instanceof Error ? IS_MISSING.exec(error.message)?.[1] : undefined;
  if (missing === undefined) return error;
  return new OtherVersionFileError(
    path,
    `${path} was published by another version of billsync and lacks what this one reads (${missing}).`,
    {
      hint: '`billsync snapshot` publishes it again; a worker that runs must be of this version first',
      cause: error,
    },
  );
}

/** No report has this name; `suggestions` are the nearest that exist. */
export class ReportNotFoundError extends BillsyncError {
  readonly code = 'report-not-found';
  override readonly exitCode = EXIT.usage;
  readonly suggestions: readonly string[];
  constructor(name: string, suggestions: readonly string[]) {
    const hint = suggestions.length > 0 ? ` Did you mean ${suggestions.join(' or ')}?` : '';
    super(`There is no report "${name}".${hint} "billsync report" lists them all.`);
    this.suggestions = suggestions;
  }
}

/** A filter or parameter has an invalid value; the message names both. */
export class ReportFilterError extends BillsyncError {
  readonly code = 'invalid-filter';
  override readonly exitCode = EXIT.usage;
  readonly filter: string;
  constructor(filter: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.filter = filter;
  }
}

/** The result exceeds the limits of a workbook. */
export class WorkbookLimitError extends BillsyncError {
  readonly code = 'workbook-limit';
  override readonly exitCode = EXIT.usage;
  constructor(excess: string) {
    super(`${excess} that XLSX can hold.`, { hint: 'narrow the question, or write CSV or Parquet' });
  }
}

/** DuckDB refused a person's own statement; the message is DuckDB's, as one line. */
export class SqlRefusedError extends BillsyncError {
  readonly code = 'sql-refused';
  override readonly exitCode = EXIT.usage;
  constructor(cause: unknown) {
    const words = cause instanceof Error ? cause.message : String(cause);
    const [first = '', ...more] = words.split('\n').filter((line) => line.trim() !== '');
    const hint = more.find((line) => /^(Candidate|Did you mean)/.test(line.trim()))?.trim();
    super(first, { cause, hint: hint ?? '`billsync sql "show tables"` lists what there is' });
  }
}

/** The time limit ran out and the query was stopped. */
export class ReportInterruptedError extends BillsyncError {
  readonly code = 'interrupted';
  override readonly exitCode = EXIT.checkFailed;
  readonly report: string;
  readonly timeLimitMs: number;
  constructor(report: string, timeLimitMs: number) {
    super(
      `Report ${report} was stopped after ${timeLimitMs / 1000} s. Narrow it (period, tenant), or raise the timeout: --timeout on the command line, BILLSYNC_PAGE_TIMEOUT for the dashboard.`,
    );
    this.report = report;
    this.timeLimitMs = timeLimitMs;
  }
}
