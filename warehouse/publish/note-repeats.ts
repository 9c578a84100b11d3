/**
 * Notes which rows share their tracking number with another, so that readers count packages without reading every number
 * (ADR 25). Done with each publication, for the loads that came since the last one.
 *
 * Rows are noted, never changed, and none is taken back: a row too many changes no count, since whoever counts compares
 * the numbers of those that are noted.
 */

import type { Session } from '../duckdb/session.js';
import type { Row } from '../duckdb/statements.js';

/**
 * From so large a part of all rows on, new ones are not looked up among the others: all are sorted together. Of 22 million
 * rows the two take the same where a third is new.
 */
const MANY_NEW = 1 / 4;
/** Nor are so many rows copied that repeat, for readers sort them as quickly; some thousand are no matter. */
const MANY_REPEATED = 1 / 8;
const FEW_COPIES = 10_000;

/** @param session in the transaction that says what is published */
export async function noteRepeats(session: Session): Promise<void> {
  const { rows, all_rows: allRows, loads } = await takeUnlooked(session);
  if (loads === 0) return;
  // Planned anew each time: a kept statement makes its table a second time without columns.
  await session.once('note-billed-months');
  await session.once(Number(rows) > Number(allRows) * MANY_NEW ? 'look-at-all-rows' : 'look-at-new-rows');
  await session.once('note-repeated-rows');
  await session.once('note-package-loads');
  await session.statement('drop table looked_at');
  await session.statement('drop table unlooked_loads');
  await copyFew(session);
}

/** Of so many loads as are not noted the last ones are looked at; all, should one of those before them be missing. */
async function takeUnlooked(session: Session): Promise<Row> {
  const { loads, looked } = await session.first('count-unlooked');
  const missing = Number(loads) - Number(looked);
  if (missing === 0) return { loads: 0 };
  let taken: Row = { loads: 0 };
  for (const from of [Number(looked), 0]) {
    await session.once('take-unlooked', { from });
    taken = await session.first('count-taken');
    if (taken.loads === missing) break;
  }
  return taken;
}

async function copyFew(session: Session): Promise<void> {
  const { rows, repeated, copies } = await session.first('count-repeated-rows');
  if (Number(repeated) > Math.max(Number(rows) * MANY_REPEATED, FEW_COPIES)) {
    if (Number(copies) > 0) await session.all('forget-repeated-copies');
  } else if (repeated !== copies) await session.all('copy-repeated-rows');
}
