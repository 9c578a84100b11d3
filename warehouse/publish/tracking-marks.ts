/**
 * Where each tracking number stands, kept in files beside the warehouse, so that a publication finds the rows that may have one of
 * a few new numbers without reading every number (ADR 50).
 *
 * New rows get a file of their own, which takes in those before it as long as they are no larger: there are few files, and a row is
 * written again only as often as its file doubles. Which files count stands in the warehouse, in the transaction of the publication.
 * A file that is missing or not what was written makes all of them be made again from the rows.
 */

import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from '../../ops/names-in.ts';
import type { Session } from '../duckdb/session.ts';
import {
  type Entries,
  findInMarkFile,
  type MarkFile,
  MarkFileDamagedError,
  readMarkFile,
  writeMarkFile,
} from './mark-file.ts';
import { mergeEntries } from './merge-entries.ts';

/** Rows by their number's mark, a column each. */
export interface MarkedRows {
  readonly marks: readonly number[];
  readonly loads: readonly number[];
  readonly rows: readonly number[];
}

interface Marked extends MarkFile {
  /** So many, behind those of the files before it. */
  readonly loads: number;
}

/** Where marks are kept. */
export interface MarksPlace {
  /** Beside the warehouse; made when it is not there. */
  readonly folder: string;
  /** So many rows are marked by one publication, which keeps writers waiting. Files with more than twice as many stay as they are. */
  readonly rowsAtOnce?: number;
  /** When more rows have one of the numbers, they are not held in memory. */
  readonly mostFound?: number;
}

/** About a second of processor time. */
export const ROWS_AT_ONCE = 2_000_000;
const MOST_FOUND = 500_000;

/**
 * @param session in a transaction, with `unlooked_loads`
 * @returns the rows of these loads, and all others that have one of their tracking numbers, some by mistake; null: they are too
 * many, or there are rows that have no mark yet, and the next publications go on
 */
export async function findMarked(session: Session, place: MarksPlace): Promise<MarkedRows | null> {
  await mkdir(place.folder, { recursive: true, mode: 0o700 });
  const told = await readTold(session, place.folder);
  await sweep(place.folder, told);
  try {
    return await findAmong(session, place, told);
  } catch (error) {
    if (!isOfFiles(error)) throw error;
    return findAmong(session, place, []);
  }
}

async function findAmong(
  session: Session,
  place: MarksPlace,
  told: readonly Marked[],
): Promise<MarkedRows | null> {
  const { files, isWhole } = await markMore(session, place, told);
  if (!isWhole) return null;
  const wanted = await wantedOf(session);
  const [marks, loads, rows]: [number[], number[], number[]] = [[], [], []];
  for (const file of files) {
    await findInMarkFile(file, wanted, (mark, load, row) => {
      marks.push(mark);
      loads.push(load);
      rows.push(row);
    });
    if (marks.length > (place.mostFound ?? MOST_FOUND)) return null;
  }
  return { marks, loads, rows };
}

/** The files with those of the loads that came since, as they are told from now on. */
async function markMore(
  session: Session,
  { folder, rowsAtOnce = ROWS_AT_ONCE }: MarksPlace,
  told: readonly Marked[],
): Promise<{ readonly files: readonly Marked[]; readonly isWhole: boolean }> {
  const from = loadsOf(told);
  const counted = await session.first('count-unmarked', { from, rows: rowsAtOnce });
  const isWhole = from + Number(counted.loads) === counted.all_loads;
  if (counted.loads === 0) return { files: told, isWhole };
  const files = [...told];
  const merged = takeMerged(files, { rows: Number(counted.rows), largest: rowsAtOnce * 2 });
  const fresh = marksOf(session, { from, to: from + Number(counted.loads) });
  const name = randomUUID();
  const path = join(folder, name);
  const entries = await writeMarkFile({ path, name }, mergeEntries([fresh, ...merged.map(readMarkFile)]));
  files.push({ path, name, entries, loads: Number(counted.loads) + loadsOf(merged) });
  const lines = files.map(({ name, entries, loads }, place) => ({ place, name, entries, loads }));
  await session.all('forget-marked');
  await session.all('write-marked', { files: JSON.stringify(lines) });
  return { files, isWhole };
}

function loadsOf(files: readonly Marked[]): number {
  return files.reduce((sum, { loads }) => sum + loads, 0);
}

/** Takes from the end the files that become one with so many new rows, the last one first. */
function takeMerged(
  files: Marked[],
  { rows, largest }: { readonly rows: number; readonly largest: number },
): readonly Marked[] {
  const merged: Marked[] = [];
  for (let size = rows; ; ) {
    const last = files.at(-1);
    if (last === undefined || last.entries > Math.min(size, largest)) return merged;
    files.pop();
    merged.push(last);
    size += last.entries;
  }
}

async function* marksOf(
  session: Session,
  loads: { readonly from: number; readonly to: number },
): AsyncGenerator<Entries> {
  const none = new Uint32Array();
  for await (const [marks = none, ids = none, rows = none] of session.columns('marks-of-loads', loads)) {
    yield { marks, loads: ids, rows };
  }
}

async function wantedOf(session: Session): Promise<Uint32Array> {
  const marks: number[] = [];
  for await (const [column = []] of session.columns('marks-of-unlooked')) marks.push(...column);
  return Uint32Array.from(marks);
}

/** None, should they not have a mark for each row of their loads. */
async function readTold(session: Session, folder: string): Promise<readonly Marked[]> {
  const told = (await session.all('read-marked')).map((line) => ({
    name: String(line.name),
    path: join(folder, String(line.name)),
    entries: Number(line.entries),
    loads: Number(line.loads),
  }));
  const { rows } = await session.first('count-marked', { loads: loadsOf(told) });
  return rows === told.reduce((sum, { entries }) => sum + entries, 0) ? told : [];
}

/** Files that became part of another, and those of a publication that failed. */
async function sweep(folder: string, told: readonly Marked[]): Promise<void> {
  const names = new Set(told.map(({ name }) => name));
  for (const name of await namesIn(folder)) {
    if (!names.has(name)) await rm(join(folder, name), { force: true });
  }
}

function isOfFiles(error: unknown): boolean {
  return (
    error instanceof MarkFileDamagedError ||
    (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EIO'))
  );
}
