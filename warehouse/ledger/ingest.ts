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
import { wellFormedJson } from '../../lib/wire/json.ts';
import { printable } from '../../lib/wire/text.ts';
import { isRowError, type Ledgers, type Row, type Statements } from '../duckdb/statements.ts';
import type { SetAside } from '../warehouse.ts';
import { changesLedgers, countsOf, heldRecordOfFact, readHeldRecords } from './archive-diff.ts';
import { refreshInvoices, type Taken } from './invoice-states.ts';
import { eventLine, factLines, instant } from './ledger-lines.ts';

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

/* Takes a batch of the archive's records into the ledgers, and leaves out the one that cannot be taken. */

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

/* Writes batches of events and facts into the ledgers; the caller refreshes the invoices that were touched. */

export interface TakenEvents extends Taken {
  /** Ids that were not in the ledger before, or were refused before. */
  readonly fresh: readonly string[];
}

/** Inside the caller's transaction. Does not refresh. */
export async function insertEvents(
  session: Statements,
  events: readonly ArchivedEvent[],
): Promise<TakenEvents> {
  // One statement must not meet an id twice; the first line is the one the archive has.
  const byId = new Map(events.toReversed().map((event) => [event.eventId, event]));
  const asked = { event_ids: wellFormedJson([...byId.keys()]) };
  const areKnown = (await session.all('are-events-known', asked)).length > 0;
  const known = areKnown ? await session.all('known-events', asked) : [];
  const refused: ArchivedEvent[] = [];
  for (const { event_id: eventId, verdict } of known) {
    const event = byId.get(String(eventId));
    if (event !== undefined && verdict === 'quarantined' && event.verdict !== 'quarantined')
      refused.push(event);
    else byId.delete(String(eventId));
  }
  const fresh = [...byId.values()];
  const since = oldest(fresh.map(({ receivedAt }) => receivedAt));
  if (fresh.length === 0) return { fresh: [], invoiceIds: [], since, hasAttention: false };
  if (refused.length > 0) {
    await session.all('release-events', { events: wellFormedJson(refused.map(eventLine)) });
  }
  const unclaimed = fresh.filter((event) => !refused.includes(event)).map(({ eventId }) => eventId);
  if (unclaimed.length > 0) await session.all('claim-events', { event_ids: wellFormedJson(unclaimed) });
  const rows = await session.all('insert-events', { events: wellFormedJson(fresh.map(eventLine)) });
  const ids = rows.flatMap((row) => (typeof row.invoice_id === 'string' ? [row.invoice_id] : []));
  return {
    fresh: rows.map((row) => String(row.event_id)),
    invoiceIds: [...new Set(ids)],
    since,
    hasAttention: false,
  };
}

/** Inside the caller's transaction. Does not refresh. */
export async function insertFacts(session: Statements, facts: readonly Fact[]): Promise<Taken> {
  const { invoiceIds, ...lines } = factLines(facts);
  for (const [name, batch] of Object.entries(lines)) {
    if (batch.length > 0) await session.all(`insert-${name}`, { facts: wellFormedJson(batch) });
  }
  return { invoiceIds, since: oldest(facts.map(({ at }) => at)), hasAttention: lines.attention.length > 0 };
}

/** In the form in which the ledgers keep instants. */
function oldest(instants: readonly string[]): string {
  return instants.map((at) => instant(at) ?? at).sort()[0] ?? '-infinity';
}

/*  * Records of the archive that cannot be taken in: each is set aside with the reason, told once, and passed over.
 *
 * No single record may stop the others. What sets one aside is its own fault alone, never the state of disk, memory or
 * network: those are thrown on, and everything is tried again.
 */

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
