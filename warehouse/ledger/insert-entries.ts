/** Takes a batch of the archive's records into the ledgers, and leaves out the one that cannot be taken. */

import type { Ledgers, Statements } from '../duckdb/statements.ts';
import type { SetAside } from '../opening.ts';
import { refreshInvoices, type Taken } from './invoice-states.ts';
import { insertSetAside, isRecordError } from './set-aside.ts';

export interface TakeOptions {
  readonly database: Ledgers;
  readonly now: Date;
  /** Holds the invoices' locks around a batch. */
  readonly lock: <T>(invoiceIds: readonly string[], work: () => Promise<T>) => Promise<T>;
}

export interface Entry<Line> {
  readonly line: Line;
  readonly cursor: string;
}

export interface Stream<Line, T extends Taken> {
  readonly stream: string;
  readonly placeOf: (line: Line) => string;
  readonly invoicesOf: (lines: readonly Line[]) => readonly string[];
  readonly take: (session: Statements, lines: readonly Line[]) => Promise<T>;
}

export interface TakenEntries<T> {
  readonly taken: readonly T[];
  readonly setAside: readonly SetAside[];
}

/** One transaction when all is well; when one of them is at fault, halves of it, until that one is alone. */
export async function takeEntries<Line, T extends Taken>(
  options: TakeOptions,
  entries: readonly Entry<Line>[],
  stream: Stream<Line, T>,
): Promise<TakenEntries<T>> {
  const lines = entries.map(({ line }) => line);
  const [first] = lines;
  const position = entries.at(-1)?.cursor;
  if (first === undefined || position === undefined) return { taken: [], setAside: [] };
  const cursor = { stream: stream.stream, position };
  try {
    const taken = await takeBatch(options, cursor, stream.invoicesOf(lines), (session) =>
      stream.take(session, lines),
    );
    return { taken: [taken], setAside: [] };
  } catch (error) {
    if (!isRecordError(error)) throw error;
    if (entries.length === 1) {
      const record = { place: stream.placeOf(first), why: error.message };
      const setAside = await options.database.transaction(async (session) => {
        await moveCursor(session, cursor);
        return insertSetAside(session, [record], options.now);
      });
      return { taken: [], setAside };
    }
  }
  const half = Math.ceil(entries.length / 2);
  const before = await takeEntries(options, entries.slice(0, half), stream);
  const after = await takeEntries(options, entries.slice(half), stream);
  return {
    taken: [...before.taken, ...after.taken],
    setAside: [...before.setAside, ...after.setAside],
  };
}

interface StreamPlace {
  readonly stream: string;
  readonly position: string;
}

async function takeBatch<T extends Taken>(
  { database, lock }: TakeOptions,
  cursor: StreamPlace,
  invoiceIds: readonly string[],
  take: (session: Statements) => Promise<T>,
): Promise<T> {
  return lock(invoiceIds, () =>
    database.transaction(async (session) => {
      const taken = await take(session);
      await refreshInvoices(session, taken);
      await moveCursor(session, cursor);
      return taken;
    }),
  );
}

/** An upsert would do, at five times the cost. */
async function moveCursor(session: Statements, cursor: StreamPlace): Promise<void> {
  const moved = await session.all('move-cursor', { ...cursor });
  if (moved.length === 0) await session.all('insert-cursor', { ...cursor });
}
