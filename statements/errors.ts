/** What can go wrong with a statement: a class for each cause. */

import { BillsyncError, EXIT } from '../contract/errors.ts';

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

/** What was sent before cannot be read, so nobody can say what has to be corrected. */
export class SentStatementError extends BillsyncError {
  readonly code = 'sent-statement-damaged';
  override readonly exitCode = EXIT.checkFailed;
}
