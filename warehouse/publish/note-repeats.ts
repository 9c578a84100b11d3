/**
 * Notes which rows share their tracking number with another, so that readers count packages without reading every number
 * (ADR 25). Done with each publication, for the loads that came since the last one.
 *
 * Rows are noted, never changed, and none is taken back: a row too many changes no count, since whoever counts compares
 * the numbers of those that are noted.
 */

import type { Session } from '../duckdb/session.js';

/**
 * From so large a part of all rows on, new ones are not looked up among the others: all are sorted together. Nor are
 * that many rows copied, for readers sort them as quickly; some thousand are no matter.
 */
const MANY = 1 / 8;
const FEW_COPIES = 10_000;

/** @param session in the transaction that says what is published */
export async function noteRepeats(session: Session): Promise<void> {
  const { loads, rows, moved, all_rows: allRows } = await session.first('unlooked-loads');
  if (Number(loads) === 0) return;
  await session.all('note-billed-months');
  // Planned anew each time: a kept statement makes its table a second time without columns.
  await session.once(Number(rows) > Number(allRows) * MANY ? 'look-at-all-rows' : 'look-at-new-rows');
  await session.once('note-repeated-rows');
  await session.statement('drop table looked_at');
  if (Number(moved) > 0) await session.all('forget-package-loads');
  await session.all('note-package-loads');
  await copyFew(session);
}

async function copyFew(session: Session): Promise<void> {
  const { rows, repeated, copies } = await session.first('count-repeated-rows');
  if (Number(repeated) > Math.max(Number(rows) * MANY, FEW_COPIES)) {
    if (Number(copies) > 0) await session.all('forget-repeated-copies');
  } else if (repeated !== copies) await session.all('copy-repeated-rows');
}
