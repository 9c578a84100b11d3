/** Asks the published file which finalized invoices wait for their file. */

import { NotPublishedError } from '../reports/errors.ts';
import { askSql } from '../reports/run-sql.ts';
import type { Waiting } from './watch-upkeep.ts';

const WAITING =
  "select count(*) as invoices, min(state_since) as since from invoices where state = 'finalized'";
const TIME_LIMIT_MS = 20_000;

/** @param databasePath of the published file; while there is none, nothing waits that is known */
export async function readWaiting(databasePath: string): Promise<Waiting> {
  try {
    const { rows } = await askSql({ databasePath, sql: WAITING, timeLimitMs: TIME_LIMIT_MS });
    const { invoices = 0, since = null } = rows[0] ?? {};
    return { invoices: Number(invoices), since: since === null ? null : String(since) };
  } catch (error) {
    if (error instanceof NotPublishedError) return { invoices: 0, since: null };
    throw error;
  }
}
