/**
 * Records of the archive that cannot be taken in: each is set aside with the reason, told once, and passed over.
 *
 * No single record may stop the others. What sets one aside is its own fault alone, never the state of disk, memory or
 * network: those are thrown on, and everything is tried again.
 */

import { printable } from '../../lib/wire/text.ts';
import { isRowError } from '../duckdb/row-error.ts';
import type { Row, Statements } from '../duckdb/statements.ts';
import type { SetAside } from '../opening.ts';

/** Inside the caller's transaction. @returns those that nobody knew of before */
export async function insertSetAside(
  statements: Statements,
  records: readonly SetAside[],
  now: Date,
): Promise<readonly SetAside[]> {
  const fresh: SetAside[] = [];
  for (const { place, why } of records) {
    const record = { place: printable(place, 300), why: printable(why, 300) };
    const noted = await statements.all('insert-set-aside', { ...record, recorded_at: now.toISOString() });
    if (noted.length > 0) fresh.push(record);
  }
  return fresh;
}

/** All that is set aside and not repaired yet. */
export async function readSetAside(database: {
  all(name: string): Promise<readonly Row[]>;
}): Promise<readonly SetAside[]> {
  const rows = await database.all('select place, why from set_aside order by recorded_at, place');
  return rows.map(({ place, why }) => ({ place: String(place), why: String(why) }));
}

/** Whether an error is about what was to be written, so that the same record fails again whenever it is tried. */
export function isRecordError(error: unknown): error is Error {
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) return true;
  return isRowError(error) || isDataException(error);
}

/** PostgreSQL's classes of errors: 22 data, 23 integrity; 54000, a value larger than an index takes. */
function isDataException(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^(?:22|23)[0-9A-Z]{3}$|^54000$/.test(code);
}
