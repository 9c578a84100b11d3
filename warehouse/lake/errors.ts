/** What can be wrong with a lake besides what can be wrong with any warehouse. */

import { EXIT } from '../../lib/wire/errors.ts';
import { WarehouseError } from '../errors.ts';

/** PostgreSQL's messages of `too_many_connections` (53300). */
const NO_SLOT = /too many (?:clients|connections)|remaining connection slots/i;

/** PostgreSQL does not answer, or refuses the connection. */
export class CatalogUnreachableError extends WarehouseError {
  readonly code = 'catalog-unreachable';
  override readonly exitCode = EXIT.unreachable;

  constructor(shown: string, problem: string, cause?: unknown) {
    const hint = NO_SLOT.test(problem)
      ? 'raise max_connections of PostgreSQL, or run fewer processes: a worker has up to 8 connections, a dashboard up to 4'
      : 'check BILLSYNC_WAREHOUSE and that PostgreSQL answers, then `billsync doctor`';
    super(`The lake's catalogue (${shown}) cannot be reached: ${problem}`, { cause, hint });
  }
}

/** PostgreSQL answers, and no worker has made a warehouse there. */
export class NoLakeYetError extends WarehouseError {
  readonly code = 'no-lake-yet';
  override readonly exitCode = EXIT.nothingMatched;

  constructor(shown: string) {
    super(`The lake's catalogue (${shown}) holds no warehouse yet; a worker makes it.`);
  }
}

/** DuckDB's extension is not on this machine and cannot be had, or is made for another DuckDB. */
export class ExtensionMissingError extends WarehouseError {
  readonly code = 'extension-missing';
  override readonly exitCode = EXIT.usage;

  constructor(extension: string, versions: { readonly duckdb: string }, attempts: readonly string[]) {
    super(
      `DuckDB's extension ${extension} for ${versions.duckdb} was not found: ${attempts.join('; ')}. ` +
        `Install it where DuckDB ${versions.duckdb} looks for extensions, or let this machine reach extensions.duckdb.org.`,
    );
  }
}

/** A rebuild put another generation in place while this process ran; what it had in hand is not committed. */
export class LakeReplacedError extends WarehouseError {
  readonly code = 'lake-replaced';
  override readonly exitCode = EXIT.locked;

  constructor(generations: { readonly ours: number; readonly found: number | null }) {
    super(
      `The warehouse was rebuilt (generation ${generations.found ?? 'unknown'}, this process writes to ${generations.ours}). Start again.`,
    );
  }
}
