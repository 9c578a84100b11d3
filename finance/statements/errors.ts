/** What can go wrong with a statement: a class for each cause. */

import { BillsyncError, EXIT } from '../../lib/wire/errors.ts';

/** What was asked for cannot be meant: two tenants of one name, a month that is none, more lines than a file takes. */
export class StatementRefusedError extends BillsyncError {
  readonly code = 'statement-refused';
  override readonly exitCode = EXIT.usage;
}

/** No tenant has that name or id. */
export class NoSuchTenantError extends BillsyncError {
  readonly code = 'no-such-tenant';
  override readonly exitCode = EXIT.nothingMatched;
}

/** These tenants got no statement; all others did. */
export class StatementsFailedError extends BillsyncError {
  readonly code = 'statements-failed';
  override readonly exitCode = EXIT.checkFailed;

  constructor(made: number, failed: readonly { readonly tenant: string; readonly error: unknown }[]) {
    const named = failed.map(({ tenant, error }) => `${tenant} (${reasonOf(error)})`).join(', ');
    super(`no statement could be made of ${named}; ${made} of ${made + failed.length} were`, {
      hint: 'the same command makes those that are missing once the reason is gone',
      cause: failed[0]?.error,
    });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
}

/** What was sent before cannot be read, so nobody can say what has to be corrected. */
export class SentStatementError extends BillsyncError {
  readonly code = 'sent-statement-damaged';
  override readonly exitCode = EXIT.checkFailed;
}
