import { type ErrorDetails, EXIT, errorClass } from '../lib/errors.ts';

export class ReportError extends errorClass({
  'not-published': {
    message: 'Nothing is published yet: %s does not exist. Load an invoice, or run "billsync snapshot".',
    exitCode: EXIT.nothingMatched,
  },
  'published-by-another-version': {
    message: '%s was published by another version of billsync and lacks what this one reads (%s).',
    exitCode: EXIT.nothingMatched,
    hint: '`billsync snapshot` publishes it again; a worker that runs must be of this version first',
  },
  'report-not-found': {
    message: 'There is no report "%s".%s "billsync report" lists them all.',
    exitCode: EXIT.usage,
  },
  /** The message names the filter, parameter or file, and what to write instead. */
  'invalid-filter': { message: '%s', exitCode: EXIT.usage },
  'workbook-limit': {
    message: '%s that XLSX can hold.',
    exitCode: EXIT.usage,
    hint: 'narrow the question, or write CSV or Parquet',
  },
  'sql-refused': {
    message: '%s',
    exitCode: EXIT.usage,
    hint: '`billsync sql "show tables"` lists the tables and views',
  },
  interrupted: {
    message:
      'Report %s was stopped after %s s. Narrow it (period, tenant), or raise the timeout: --timeout on the command line, BILLSYNC_PAGE_TIMEOUT for the dashboard.',
    exitCode: EXIT.checkFailed,
  },
}) {}

type ReportErrorCode = ReportError['code'];

/** @param codes the codes of which the error has one; without any, every code is meant */
export function isReportError(error: unknown, ...codes: readonly ReportErrorCode[]): error is ReportError {
  return error instanceof ReportError && (codes.length === 0 || codes.includes(error.code));
}

export function invalidFilter(message: string, details: ErrorDetails = {}): ReportError {
  return new ReportError('invalid-filter', [message], details);
}

/** @param report the report's name, or a phrase that begins with `of` */
export function interrupted(report: string, timeLimitMs: number): ReportError {
  return new ReportError('interrupted', [report, timeLimitMs / 1000]);
}

/** The first line of DuckDB's message; DuckDB's suggestion is the hint. */
export function sqlRefused(cause: unknown): ReportError {
  const message = cause instanceof Error ? cause.message : String(cause);
  const [first = '', ...more] = message.split('\n').filter((line) => line.trim() !== '');
  const hint = more.find((line) => /^(Candidate|Did you mean)/.test(line.trim()))?.trim();
  return new ReportError('sql-refused', [first], { cause, ...(hint === undefined ? {} : { hint }) });
}

const IS_MISSING =
  /^(?:Catalog|Binder) Error: ([^\n]*(?:does not exist|not found|does not have a column)[^\n]*)/;

/**
 * A published file has all tables and columns that its version reads. Other errors are returned unchanged.
 */
export function asOtherVersion(error: unknown, path: string): unknown {
  const missing = error instanceof Error ? IS_MISSING.exec(error.message)?.[1] : undefined;
  if (missing === undefined) return error;
  return new ReportError('published-by-another-version', [path, missing], { cause: error });
}
