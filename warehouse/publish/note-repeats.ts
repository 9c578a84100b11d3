/**
 * Notes which rows share their tracking number with another, so that readers count packages without reading every number
 * (ADR 25). Done with each publication, for the loads that came since the last one.
 *
 * Rows are noted, never changed, and none is taken back: a row too many changes no count, since whoever counts compares
 * the numbers of those that are noted.
 */

import type { Session } from '../duckdb/session.ts';
import type { Row } from '../duckdb/statements.ts';
import { findMarked, type MarksPlace } from './tracking-marks.ts';

/**
 * From so large a part of all rows on, new ones are not looked up among the others: all are sorted together. Of 22 million
 * rows the two take the same where a third is new.
 */
const MANY_NEW = 1 / 4;
/** New rows that are few, beside many, are looked up by their marks (ADR 50): reading all numbers takes longer then. */
const MOST_LOOKED_UP = 100_000;
const FEW_NEW = 1 / 64;
const MANY_ROWS = 500_000;
/** Nor are so many rows copied that repeat, for readers sort them as quickly; some thousand are no matter. */
const MANY_REPEATED = 1 / 8;
const FEW_COPIES = 10_000;

export interface RepeatMarks extends MarksPlace {
  /** Of fewer rows all numbers are read. */
  readonly manyRows?: number;
}

/**
 * @param session in the transaction that says what is published
 * @param marks null: none are kept, all numbers are read
 */
export async function noteRepeats(session: Session, marks: RepeatMarks | null = null): Promise<void> {
  const { rows, all_rows: allRows, loads } = await takeUnlooked(session);
  if (loads === 0) return;
  // Planned anew each time: a kept statement makes its table a second time without columns.
  await session.once('note-billed-months');
  await lookAtRows(session, { rows: Number(rows), allRows: Number(allRows), marks });
  await session.once('note-repeated-rows');
  await session.once('note-package-loads');
  await session.statement('drop table looked_at');
  await session.statement('drop table unlooked_loads');
  await copyFew(session);
}

interface Look {
  readonly rows: number;
  readonly allRows: number;
  readonly marks: RepeatMarks | null;
}

async function lookAtRows(session: Session, look: Look): Promise<void> {
  if (look.rows > look.allRows * MANY_NEW) {
    await session.once('look-at-all-rows');
    return;
  }
  const found = areFew(look) ? await findMarked(session, look.marks) : null;
  if (found === null) {
    await session.once('look-at-new-rows');
    return;
  }
  const [loads, rows, marks] = [listOf(found.loads), listOf(found.rows), listOf(found.marks)];
  await session.once('look-at-found-rows', { loads, rows, marks });
}

function areFew(look: Look): look is Look & { readonly marks: RepeatMarks } {
  const { rows, allRows, marks } = look;
  if (marks === null || allRows < (marks.manyRows ?? MANY_ROWS)) return false;
  return rows <= Math.min(allRows * FEW_NEW, MOST_LOOKED_UP);
}

function listOf(numbers: readonly number[]): string {
  return `[${numbers.join(', ')}]`;
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
