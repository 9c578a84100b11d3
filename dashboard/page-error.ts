import { BillsyncError, EXIT } from '../lib/errors.ts';
import { UnreadableFileError } from '../lib/files/damaged-database.ts';
import type { Logger } from '../lib/log/log.ts';
import { isReportError } from '../reports/errors.ts';

export interface PageError {
  readonly status: number;
  readonly title: string;
  readonly message: string;
}

/** Logs unexpected errors with the path, without its query; their page has no details. */
export function pageError(
  error: unknown,
  { url, log }: { readonly url: string; readonly log: Logger },
): PageError {
  const [status, title] = statusOf(error);
  if (isUnreadable(error) || isUnreachable(error)) {
    log.error({ err: error }, 'the published file cannot be read');
    return { status, title, message: `${error.message} ${error.hint}.` };
  }
  if (status !== 500)
    return { status, title, message: error instanceof Error ? error.message : String(error) };
  log.error({ err: error, path: url.split('?')[0] }, 'a page could not be made');
  return { status, title, message: 'This page could not be made; the log has the reason.' };
}

function isUnreadable(error: unknown): error is BillsyncError {
  return error instanceof UnreadableFileError || isReportError(error, 'published-by-another-version');
}

function isUnreachable(error: unknown): error is BillsyncError {
  return error instanceof BillsyncError && error.exitCode === EXIT.unreachable;
}

function statusOf(error: unknown): readonly [number, string] {
  if (isReportError(error, 'not-published')) return [503, 'Nothing is published yet'];
  if (isUnreadable(error)) return [503, 'The publication cannot be read'];
  if (isUnreachable(error)) return [503, 'The publication cannot be reached'];
  if (isReportError(error, 'report-not-found')) return [404, 'No such report'];
  if (isReportError(error, 'invalid-filter')) return [400, 'Invalid request'];
  if (isReportError(error, 'interrupted')) return [503, 'It took too long'];
  // Fastify's own refusals carry a status.
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  return status >= 400 && status < 500 ? [status, 'Invalid request'] : [500, 'Something went wrong'];
}
