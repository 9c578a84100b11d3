/**
 * Reads on in the archive: events and facts that the ledgers do not have yet.
 *
 * This is the only way facts get into the warehouse, in daily work as in a rebuild, so both end in the same rows. The
 * cursor moves in the transaction that takes the lines in: a crash repeats or skips nothing.
 */

import {
  type Archive,
  type ArchivedEvent,
  CursorError,
  type Fact,
  type OnUnreadable,
} from '../../archive/archive.ts';
import type { Ledgers } from '../duckdb/statements.ts';
import type { SetAside } from '../opening.ts';
import { changesLedgers, countsOf, heldRecordOfFact, readHeldRecords } from './archive-diff.ts';
import { type TakeOptions, takeEntries } from './insert-entries.ts';
import { insertEvents, insertFacts } from './insert-ledger-lines.ts';
import { insertSetAside } from './set-aside.ts';

export type LoadFact = Fact & { readonly kind: 'load' };

export interface Ingested {
  readonly events: number;
  readonly facts: number;
  /** Ledger lines written; a fact of a load that is here already is none. */
  readonly changes: number;
  /** What could not be taken in, and nobody was told of before. */
  readonly setAside: readonly SetAside[];
  /** Streams whose place in the archive was none, so that they were read from the beginning. */
  readonly readAgain: readonly string[];
}

/** Told of loads that the archive tells of and the warehouse does not have. */
export type OnMissing = (loads: readonly LoadFact[]) => void;

export interface IngestOptions extends TakeOptions {
  readonly archive: Archive;
  /** Leaves facts that change no invoice to the next call, unless others came with them. */
  readonly deferFacts?: boolean;
  readonly onProgress?: (done: { readonly events: number; readonly facts: number }) => void;
  readonly onMissing?: OnMissing;
}

const BATCH = 2_000;
/** Loads that are repeated in one go: so many that pauses between two do not count. */
const SLICE = 20_000;

/**
 * Takes in all events and facts behind the cursors, and moves the cursors in the same transactions.
 *
 * @returns how many were new, and what could not be read
 */
export async function ingest(options: IngestOptions): Promise<Ingested> {
  const { database, archive, now } = options;
  const cursors = new Map(
    (await database.all('read-cursors')).map((row) => [String(row.stream), String(row.position)]),
  );
  let events = 0;
  let facts = 0;
  let changes = 0;
  const setAside: SetAside[] = [];
  const readAgain: string[] = [];
  const unreadable: SetAside[] = [];
  const onUnreadable: OnUnreadable = ({ where, why }) => unreadable.push({ place: where, why });

  const archived = readOn(
    (after) => archive.events({ ...(after === null ? {} : { after }), onUnreadable }),
    cursors.get('events') ?? null,
    () => readAgain.push('events'),
  );
  for await (const batch of batches(archived)) {
    const entries = batch.map(({ event, cursor }) => ({ line: event, cursor }));
    const taken = await takeEntries(options, entries, {
      stream: 'events',
      placeOf: placeOfEvent,
      invoicesOf: invoicesOfEvents,
      take: insertEvents,
    });
    for (const each of taken.taken) events += each.fresh.length;
    setAside.push(...taken.setAside);
    options.onProgress?.({ events, facts });
  }

  // Facts carry no id: read from the beginning, those of which the ledgers have the line already are passed over.
  let known: Map<string, number> | null = null;
  let before = cursors.get('facts') ?? '';
  const told = readOn(
    (cursor) => archive.factsAfter(cursor, onUnreadable),
    cursors.get('facts') ?? null,
    async () => {
      readAgain.push('facts');
      before = '';
      known = new Map(countsOf(await readHeldRecords(database)));
    },
  );
  for await (const batch of batches(told)) {
    const entries = batch.map(({ fact, cursor }) => ({ line: fact, cursor }));
    const lines = batch.map(({ fact }) => fact);
    if (options.deferFacts === true && batch.length < BATCH && lines.every(changesNoInvoice)) break;
    const missing = await findMissing(database, lines);
    if (missing.length > 0) {
      await database.all('insert-unrepeated', { position: before });
      options.onMissing?.(missing);
    }
    const counts = known;
    const there = new Set(counts === null ? [] : lines.filter((fact) => takeOne(counts, fact)));
    const taken = await takeEntries(options, entries, {
      stream: 'facts',
      placeOf: placeOfFact,
      invoicesOf: invoicesOfFacts,
      take: (session, some) =>
        insertFacts(
          session,
          some.filter((fact) => !there.has(fact)),
        ),
    });
    setAside.push(...taken.setAside);
    facts += lines.length;
    changes += lines.filter(changesLedgers).length;
    before = entries.at(-1)?.cursor ?? before;
    options.onProgress?.({ events, facts });
  }
  if (unreadable.length > 0) {
    setAside.push(...(await database.transaction((session) => insertSetAside(session, unreadable, now))));
  }
  return { events, facts, changes: changes + events, setAside, readAgain };
}

/**
 * Loads that are missing since the first that anybody found so and did not come to repeat, in slices: of very many only one is
 * held in memory. Each is what is missing when it is asked for.
 */
export async function* findUnrepeated(
  database: Ledgers,
  archive: Archive,
): AsyncGenerator<readonly LoadFact[]> {
  const rows = await database.all('read-cursors');
  const since = rows.find(({ stream }) => stream === 'loads')?.position;
  if (typeof since !== 'string') return;
  const told = readOn(
    (cursor) => archive.factsAfter(cursor),
    since === '' ? null : since,
    () => undefined,
  );
  let slice: LoadFact[] = [];
  for await (const batch of batches(told)) {
    slice.push(
      ...(await findMissing(
        database,
        batch.map(({ fact }) => fact),
      )),
    );
    if (slice.length < SLICE) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

/** A place that the archive never gave says nothing: everything is read. */
async function* readOn<T>(
  read: (cursor: string | null) => AsyncIterable<T>,
  cursor: string | null,
  onReadAgain: () => unknown,
): AsyncGenerator<T> {
  try {
    yield* read(cursor);
  } catch (error) {
    if (!(error instanceof CursorError)) throw error;
    await onReadAgain();
    yield* read(null);
  }
}

/** Where a person finds the event, for the list of what was set aside. */
export function placeOfEvent({ eventId, receivedAt }: ArchivedEvent): string {
  return `event ${eventId}, received ${receivedAt}`;
}

function placeOfFact(fact: Fact): string {
  const of =
    'invoiceId' in fact ? `, invoice ${fact.invoiceId}` : 'eventId' in fact ? `, event ${fact.eventId}` : '';
  return `fact of kind ${fact.kind}, ${fact.at}${of}`;
}

/** Whether the ledgers have a line of such a fact that none was found for yet. */
function takeOne(known: Map<string, number>, fact: Fact): boolean {
  const key = heldRecordOfFact(fact);
  const count = key === null ? 0 : (known.get(key) ?? 0);
  if (key !== null && count > 0) known.set(key, count - 1);
  return count > 0;
}

/** Where a file came from, that it was loaded, that a delivery came twice: the ledgers have a line of it, no invoice's row does. */
function changesNoInvoice({ kind }: Fact): boolean {
  return kind === 'file' || kind === 'load' || kind === 'duplicate' || kind === 'discard';
}

async function findMissing(database: Ledgers, facts: readonly Fact[]): Promise<readonly LoadFact[]> {
  const told = new Map<number, LoadFact>();
  for (const fact of facts) if (fact.kind === 'load') told.set(fact.loadId, fact);
  if (told.size === 0) return [];
  const rows = await database.all('unknown-loads', { load_ids: `[${[...told.keys()].join(', ')}]` });
  return rows.flatMap((row) => told.get(Number(row.load_id)) ?? []);
}

function invoicesOfEvents(events: readonly ArchivedEvent[]): readonly string[] {
  return [
    ...new Set(
      events.flatMap(({ event }) => (event === null ? [] : [event.invoice.invoiceId.toLowerCase()])),
    ),
  ];
}

function invoicesOfFacts(facts: readonly Fact[]): readonly string[] {
  return [...new Set(facts.flatMap((fact) => ('invoiceId' in fact ? [fact.invoiceId.toLowerCase()] : [])))];
}

async function* batches<T>(source: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let batch: T[] = [];
  for await (const entry of source) {
    batch.push(entry);
    if (batch.length >= BATCH) {
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}
