import pg from 'pg';
import { BillsyncError } from '../../lib/errors.ts';
import { WarehouseError } from '../errors.ts';
import { type CatalogAddress, withoutPassword } from './catalog-address.ts';

const NO_FREE_CONNECTION = /too many (?:clients|connections)|remaining connection slots/i;
/** As libpq and DuckDB report it; a failed rollback has no other message. */
const LOST_CONNECTION =
  /execute query "ROLLBACK"|connection to server|no connection to the server|server closed the connection|terminating connection|connect to Postgres|connection has been closed|could not (?:receive|send) data|the database system is/i;
/** SQLSTATE of lost connections, ended idle transactions, shutdowns, and full connection slots. */
const UNAVAILABLE = /^(?:08|25P0|57P|53300)/;
/**
 * The SQLSTATEs of what passes without a change of settings: a standby, deadlocks, a full disk or memory, a lock that was not had
 * in time.
 */
const PASSING = /^(?:25006|40|53|55P03)/;

/** @returns catalog-unreachable or catalog-full, without the password */
export function unreachable(address: CatalogAddress, error: unknown): WarehouseError {
  const messages = error instanceof AggregateError ? error.errors.map(String) : [messageOf(error)];
  const problem = withoutPassword(messages.join('; '), address);
  const code = isCatalogFull(problem) ? 'catalog-full' : 'catalog-unreachable';
  return new WarehouseError(code, [address.printable, problem]);
}

/** Recognizes errors of DuckDB's connections and of our own. */
export function isCatalogFull(error: unknown): boolean {
  return NO_FREE_CONNECTION.test(messageOf(error));
}

/**
 * Names the cause of an error with which a statement of the `pg` client failed. What passes by itself has the exit code `unreachable`, so that a worker waits for
 * it.
 */
export function asCatalogError(error: unknown, address: CatalogAddress): unknown {
  if (error instanceof BillsyncError) return error;
  // An error without a code is no answer of PostgreSQL: the connection has failed.
  const { code = '08000' } = error instanceof pg.DatabaseError ? error : {};
  if (UNAVAILABLE.test(code)) return unreachable(address, error);
  if (!PASSING.test(code)) return error;
  return new WarehouseError('catalog-fails', [address.printable, withoutPassword(messageOf(error), address)]);
}

/** The same for an error of DuckDB, whose connections to PostgreSQL have no codes. */
export function asAttachedError(error: unknown, address: CatalogAddress): unknown {
  const isLost = !(error instanceof BillsyncError) && LOST_CONNECTION.test(messageOf(error));
  return isLost || isCatalogFull(error) ? unreachable(address, error) : error;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
