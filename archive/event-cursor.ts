/** A position in the archive's journal up to which a reader has read, as text that the reader stores. */

import { CursorError } from './archive.ts';

/**
 * A chunk of the journal in bytes. While it is being read `last` is the key of the last event taken, because
 * inside a chunk events are given in order of `receivedAt`, not of the journal; null means it was read whole.
 */
export interface Cursor {
  readonly from: number;
  readonly end: number;
  readonly last: string | null;
}

export function formatCursor(cursor: Cursor): string {
  return cursor.last === null ? `${cursor.end}` : `${cursor.from}.${cursor.end}.${cursor.last}`;
}

/** @throws CursorError the text is not a cursor of this archive */
export function parseCursor(text: string | undefined): Cursor {
  if (text === undefined || text === '') return { from: 0, end: 0, last: null };
  const match = /^(\d+)(?:\.(\d+)\.(.+))?$/.exec(text);
  if (match === null) throw new CursorError(text);
  const [, first, second, last] = match;
  if (second === undefined || last === undefined) {
    return { from: Number(first), end: Number(first), last: null };
  }
  return { from: Number(first), end: Number(second), last };
}
