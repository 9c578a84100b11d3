/** A file that breaks a rule is not an error: `load` returns the reason. */

import { EXIT, errorClass } from '../lib/errors.ts';
import { systemErrorIn } from '../lib/system-errors.ts';

/** The workflow of an invoice retries all of them: none depends on the invoice alone. */
export class WarehouseError extends errorClass({
  'warehouse-locked': {
    message: 'The warehouse %s is in use by %s. Stop it first.',
    exitCode: EXIT.locked,
  },
  'environment-mismatch': {
    message: 'The %s belongs to the %s environment, this is %s. %s',
    exitCode: EXIT.usage,
  },
  'warehouse-stopped': {
    message: 'DuckDB could not write the warehouse %s and stopped (%s); it is not damaged.',
    exitCode: EXIT.checkFailed,
  },
  'warehouse-corrupt': {
    message: 'The warehouse %s is damaged (%s).',
    exitCode: EXIT.checkFailed,
    hint: '`billsync rebuild` makes it again from the archive; the damaged file is kept beside it',
  },
  'void-not-seen': {
    message: 'The void of invoice %s is in the archive, and totals still count the invoice.',
    exitCode: EXIT.checkFailed,
    hint: 'it is tried again; `billsync verify` compares the archive with the ledgers',
  },
  'warehouse-too-new': {
    message:
      'The warehouse %s has schema %s, this billsync knows %s. Use the newer billsync, or make a warehouse for this one with `billsync rebuild`.',
    exitCode: EXIT.usage,
  },
  'data-folder-too-new': {
    message:
      'The data folder %s has format %s, this billsync knows up to %s. Use the newer billsync, or restore the backup from before the upgrade.',
    exitCode: EXIT.usage,
  },
  'file-not-archived': {
    message: 'File %s of the archive: %s. It has to be downloaded again.',
    exitCode: EXIT.rejected,
    hint: '`billsync verify` lists everything that the archive lacks; restore it from the backup, or `billsync invoices retry`',
  },
  'publication-failed': {
    message: 'The copy for readers was not published: %s. Readers keep the previous one.',
    exitCode: EXIT.checkFailed,
    hint: '`billsync verify` checks the warehouse; the worker publishes again automatically',
  },
  'no-room': {
    message:
      'The disk of %s has %s MiB free, %s MiB are needed. Free some space; loading then continues automatically.',
    exitCode: EXIT.checkFailed,
  },
  'database-closed': { message: 'The database %s was used after it was closed.' },
  /** The rows are missing although COMMIT succeeded (hazard 9). */
  'load-lost': { message: 'Loading invoice %s: %s.' },
  'loaded-meanwhile': {
    message: 'File %s of invoice %s was loaded by another process in the meantime.',
  },
  'load-id-taken': {
    message: 'Rows are stored under load id %s already, and a load owns them; nothing was loaded.',
    exitCode: EXIT.checkFailed,
    hint: '`billsync verify` compares rows and loads; `billsync rebuild` makes both again from the archive',
  },
  /** DuckDB and csv-parse, or DuckDB and the byte scan, disagree about a valid file: a bug, and nothing is loaded. */
  misread: {
    message: 'The file of invoice %s is valid but was not read correctly: %s.',
  },
  'rebuild-loses': {
    message: 'The archive cannot recreate all of %s. The warehouse and the published copy stay as they are.',
    exitCode: EXIT.checkFailed,
    hint: 'restore the archive from its backup (or point BILLSYNC_ARCHIVE at it); `billsync rebuild --accept-loss` continues without it',
  },
  'catalog-unreachable': {
    message: "The lake's catalogue (%s) cannot be reached: %s",
    exitCode: EXIT.unreachable,
    hint: 'check BILLSYNC_WAREHOUSE and that PostgreSQL answers, then `billsync doctor`',
  },
  'catalog-full': {
    message: "The lake's catalogue (%s) has no free connection: %s",
    exitCode: EXIT.unreachable,
    hint: 'raise max_connections of PostgreSQL, or run fewer processes: a worker has up to 10 connections, a dashboard up to 5',
  },
  'catalog-fails': {
    message: "The lake's catalogue (%s) refuses to work at the moment: %s",
    exitCode: EXIT.unreachable,
    hint: 'check the disk, the standby and the locks of PostgreSQL; the work is repeated',
  },
  'catalog-pooled': {
    message:
      "The lake's catalogue (%s) is behind a pooler that gives one session several connections, so locks would not hold.",
    exitCode: EXIT.usage,
    hint: 'set the pooler to session mode, or name PostgreSQL itself in BILLSYNC_WAREHOUSE (docs/several-machines.md)',
  },
  'ledgers-missing': {
    message: "The lake's catalogue (%s) lacks %s, so its figures would be wrong.",
    exitCode: EXIT.checkFailed,
    hint: '`billsync rebuild` makes it again from the archive',
  },
  /** PostgreSQL answers, and does not store or return a file that people make. */
  'catalog-refuses': {
    message: "The lake's catalogue (%s) refuses files that people make: %s",
    exitCode: EXIT.unreachable,
    hint: 'the role needs select, insert, update and delete on billsync.user_files (docs/several-machines.md)',
  },
  'no-lake-yet': {
    message: "The lake's catalogue (%s) holds no warehouse yet; a worker makes it.",
    exitCode: EXIT.nothingMatched,
  },
  'extension-missing': {
    message:
      "DuckDB's extension %s for %s was not found: %s. Install it where DuckDB looks for extensions, or let this machine reach extensions.duckdb.org.",
    exitCode: EXIT.usage,
  },
  /** After a failover without synchronous replication, or a restore beside running workers. */
  'lake-lost-commits': {
    message:
      "The lake's catalogue has lost %s loads that the archive records. Start again, which repeats them.",
    exitCode: EXIT.locked,
  },
  'lake-replaced': {
    message: 'The warehouse was rebuilt (generation %s, this process writes to %s). Start again.',
    exitCode: EXIT.locked,
  },
}) {}

export function isWarehouseError(
  error: unknown,
  ...codes: readonly WarehouseError['code'][]
): error is WarehouseError {
  return error instanceof WarehouseError && codes.includes(error.code);
}

export function warehouseLocked(
  path: string,
  owner: { readonly pid: number; readonly role: string } | string | null,
): WarehouseError {
  const name =
    owner === null
      ? 'another process'
      : typeof owner === 'string'
        ? owner
        : `process ${owner.pid} (${owner.role})`;
  return new WarehouseError('warehouse-locked', [path, name]);
}

/** The error after which DuckDB cannot continue. A disk or limit that refused a write has damaged nothing. */
export function warehouseFatal(path: string, cause: unknown): WarehouseError {
  const system = systemErrorIn(cause);
  if (system !== null)
    return new WarehouseError('warehouse-stopped', [path, system.problem], { cause, hint: system.advice });
  const detail = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause);
  return new WarehouseError('warehouse-corrupt', [path, detail], { cause });
}
