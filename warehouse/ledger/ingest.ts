/**
 * The only way of records into the ledgers, in operation and in a rebuild. The cursor moves in the same transaction, so that a
 * crash repeats or skips nothing. A record that cannot be ingested is set aside, reported once, and blocks no other.
 */

import {
  type Archive,
  type ArchivedEvent,
  CursorError,
  type Fact,
  type OnUnreadable,
} from '../../archive/archive.ts';
import { printable } from '../../lib/text.ts';
import { wellFormedJson } from '../../lib/wire/json.ts';
import { isRowError, type Ledgers, type Row, type Statements } from '../duckdb/statements.ts';

import {
  changesLedgers,
  contentOf,
  countsOf,
  readStoredRecords,
  storedRecordOfFact,
} from './archive-diff.ts';
import { refreshInvoices, type Taken } from './invoice-states.ts';
import { eventLine, factLines, instant } from './ledger-lines.ts';

export type LoadFact = Fact & { readonly kind: 'load' };

export interface SetAside {
  readonly place: string;
  readonly why: string;
}

export type OnSetAside = (records: readonly SetAside[]) => void;

export interface IngestRequest {
  /** Leaves facts that change no invoice (files, loads, duplicates) to the next call, unless others came with them. */
  readonly deferFacts?: boolean;
}

export interface Ingested {
  readonly events: number;
  readonly changes: number;
  /** Records that were set aside, without those that were reported before. */
  readonly setAside: readonly SetAside[];
  readonly readAgain: readonly string[];
}

export type OnMissing = (loads: readonly LoadFact[]) => void;

/** A transaction that excludes other writers of the invoices. */
export type OnInvoices = <T>(
  invoiceIds: readonly string[],
  work: (statements: Statements) => Promise<T>,
) => Promise<T>;

interface IngestOptions {
  readonly database: Pick<Ledgers, 'all'>;
  readonly archive: Archive;
  readonly now: Date;
  readonly onInvoices: OnInvoices;
  readonly deferFacts?: boolean;
  readonly onMissing?: OnMissing | undefined;
}

const BATCH = 2_000;

export async function ingest(options: IngestOptions): Promise<Ingested> {
  const { database, archive, now } = options;
  const cursors = new Map(
    (await database.all('read-cursors')).map((row) => [String(row.stream), String(row.position)]),
  );
  let events = 0;
  let changes = 0;
  const setAside: SetAside[] = [];
  const readAgain: string[] = [];
  const unreadable: SetAside[] = [];
  const onUnreadable: OnUnreadable = ({ where, why }) => unreadable.push({ place: where, why });

  const archived = readFrom(
    (after) => archive.events({ ...(after === null ? {} : { after }), onUnreadable }),
    cursors.get('events') ?? null,
    () => readAgain.push('events'),
  );
  for await (const batch of batches(archived)) {
    const entries = batch.map(({ event, cursor }) => ({ line: event, cursor }));
    const ingested = await ingestEntries(options, entries, {
      stream: 'events',
      placeOf: placeOfEvent,
      invoicesOf: invoicesOfEvents,
      insert: insertEvents,
    });
    events += ingested.fresh;
    setAside.push(...ingested.setAside);
  }

  // Facts have no id: read from the beginning, those with a line in the ledgers are skipped by count.
  let known: Map<string, number> | null = null;
  let before = cursors.get('facts') ?? '';
  const recorded = readFrom(
    (cursor) => archive.factsAfter(cursor, onUnreadable),
    cursors.get('facts') ?? null,
    async () => {
      readAgain.push('facts');
      before = '';
      known = new Map(countsOf(await readStoredRecords(database)));
    },
  );
  for await (const batch of batches(recorded)) {
    const entries = batch.map(({ fact, cursor }) => ({ line: fact, cursor }));
    const lines = batch.map(({ fact }) => fact);
    if (options.deferFacts === true && batch.length < BATCH && lines.every(changesNoInvoice)) break;
    const missing = await findMissing(database, lines);
    if (missing.length > 0) {
      await database.all('insert-unrepeated', { position: before });
      options.onMissing?.(missing);
    }
    const counts = known;
    const skipped = new Set(counts === null ? [] : lines.filter((fact) => takeMatchingLine(counts, fact)));
    const ingested = await ingestEntries(options, entries, {
      stream: 'facts',
      placeOf: placeOfFact,
      invoicesOf: invoicesOfFacts,
      insert: (session, some) =>
        insertFacts(
          session,
          some.filter((fact) => !skipped.has(fact)),
        ),
    });
    setAside.push(...ingested.setAside);
    changes += ingested.fresh;
    before = entries.at(-1)?.cursor ?? before;
  }
  if (unreadable.length > 0) {
    const inserted = await options.onInvoices([], (session) => insertSetAside(session, unreadable, now));
    setAside.push(...inserted);
  }
  return { events, changes: changes + events, setAside, readAgain };
}

/** Loads that were found missing and not repeated yet, in the order of their ids. */
export async function findUnrepeated(
  database: Pick<Ledgers, 'all'>,
  archive: Archive,
): Promise<readonly LoadFact[]> {
  const rows = await database.all('read-cursors');
  const since = rows.find(({ stream }) => stream === 'loads')?.position;
  if (typeof since !== 'string') return [];
  const recorded = readFrom(
    (cursor) => archive.factsAfter(cursor),
    since === '' ? null : since,
    () => undefined,
  );
  // The archive may have a fact twice: after a crash between writing it and marking it as written, and after lost commits. The first counts.
  const found = new Map<string, LoadFact>();
  for await (const batch of batches(recorded)) {
    for (const fact of await findMissing(
      database,
      batch.map(({ fact: one }) => one),
    )) {
      const known = found.get(contentOf(fact));
      if (known === undefined || fact.at < known.at) found.set(contentOf(fact), fact);
    }
  }
  return [...found.values()].sort((a, b) => a.loadId - b.loadId || (a.at < b.at ? -1 : 1));
}

async function* readFrom<T>(
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

export function placeOfEvent({ eventId, receivedAt }: ArchivedEvent): string {
  return `event ${eventId}, received ${receivedAt}`;
}

function placeOfFact(fact: Fact): string {
  const of =
    'invoiceId' in fact ? `, invoice ${fact.invoiceId}` : 'eventId' in fact ? `, event ${fact.eventId}` : '';
  return `fact of kind ${fact.kind}, ${fact.at}${of}`;
}

/** Whether the ledgers have an unmatched line of such a fact; counts it as matched. */
function takeMatchingLine(known: Map<string, number>, fact: Fact): boolean {
  const key = storedRecordOfFact(fact);
  const count = key === null ? 0 : (known.get(key) ?? 0);
  if (key !== null && count > 0) known.set(key, count - 1);
  return count > 0;
}

function changesNoInvoice({ kind }: Fact): boolean {
  return kind === 'file' || kind === 'load' || kind === 'duplicate' || kind === 'discard';
}

async function findMissing(
  database: Pick<Ledgers, 'all'>,
  facts: readonly Fact[],
): Promise<readonly LoadFact[]> {
  const loads = facts.filter((fact) => fact.kind === 'load');
  if (loads.length === 0) return [];
  const rows = await database.all('unknown-loads', {
    invoice_ids: loads.map(({ invoiceId }) => invoiceId).join(','),
    file_sha256s: loads.map(({ sha256 }) => sha256).join(','),
  });
  return rows.flatMap(({ number }) => loads[Number(number) - 1] ?? []);
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

interface Entry<Line> {
  readonly line: Line;
  readonly cursor: string;
}

interface Stream<Line> {
  readonly stream: string;
  readonly placeOf: (line: Line) => string;
  readonly invoicesOf: (lines: readonly Line[]) => readonly string[];
  readonly insert: (session: Statements, lines: readonly Line[]) => Promise<Taken>;
}

interface IngestedEntries {
  readonly fresh: number;
  readonly setAside: readonly SetAside[];
}

/** One transaction; if a record fails, halves of the batch, until the failing record is alone and is set aside. */
async function ingestEntries<Line>(
  options: IngestOptions,
  entries: readonly Entry<Line>[],
  stream: Stream<Line>,
): Promise<IngestedEntries> {
  const { onInvoices, now } = options;
  const lines = entries.map(({ line }) => line);
  const [first] = lines;
  const position = entries.at(-1)?.cursor;
  if (first === undefined || position === undefined) return { fresh: 0, setAside: [] };
  const cursor = { stream: stream.stream, position };
  try {
    const { fresh } = await onInvoices(stream.invoicesOf(lines), async (session) => {
      const taken = await stream.insert(session, lines);
      await refreshInvoices(session, taken);
      await moveCursor(session, cursor);
      return taken;
    });
    return { fresh, setAside: [] };
  } catch (error) {
    if (!isRecordError(error)) throw error;
    if (entries.length === 1) {
      const record = { place: stream.placeOf(first), why: error.message };
      const setAside = await onInvoices([], async (session) => {
        await moveCursor(session, cursor);
        return insertSetAside(session, [record], now);
      });
      return { fresh: 0, setAside };
    }
  }
  const half = Math.ceil(entries.length / 2);
  const before = await ingestEntries(options, entries.slice(0, half), stream);
  const after = await ingestEntries(options, entries.slice(half), stream);
  return { fresh: before.fresh + after.fresh, setAside: [...before.setAside, ...after.setAside] };
}

/** The cursor is updated or inserted, since an upsert costs five times as much. */
async function moveCursor(
  session: Statements,
  cursor: { readonly stream: string; readonly position: string },
): Promise<void> {
  const moved = await session.all('move-cursor', cursor);
  if (moved.length === 0) await session.all('insert-cursor', cursor);
}

/** Inserts events and returns those that were not in the ledger, or only as quarantined. */
export async function insertEvents(session: Statements, events: readonly ArchivedEvent[]): Promise<Taken> {
  // A statement must not have an id twice. The last record is what the archive has by now: a refused event may just have been accepted.
  const byId = new Map(events.map((event) => [event.eventId, event]));
  const params = { event_ids: wellFormedJson([...byId.keys()]) };
  const areKnown = (await session.all('are-events-known', params)).length > 0;
  const known = areKnown ? await session.all('known-events', params) : [];
  const released: ArchivedEvent[] = [];
  for (const { event_id: eventId, verdict } of known) {
    const event = byId.get(String(eventId));
    if (event !== undefined && verdict === 'quarantined' && event.verdict !== 'quarantined')
      released.push(event);
    else byId.delete(String(eventId));
  }
  const fresh = [...byId.values()];
  const since = oldestInstant(fresh.map(({ receivedAt }) => receivedAt));
  if (fresh.length === 0) return { fresh: 0, invoiceIds: [], since, hasAttention: false };
  if (released.length > 0) {
    const event_ids = wellFormedJson(released.map(({ eventId }) => eventId));
    await session.all('release-events', { event_ids });
  }
  const unclaimed = fresh.filter((event) => !released.includes(event)).map(({ eventId }) => eventId);
  if (unclaimed.length > 0) await session.all('claim-events', { event_ids: wellFormedJson(unclaimed) });
  const lines = fresh.map(eventLine);
  await session.insert('event_ledger', lines);
  const ids = lines.flatMap(({ invoice_id: id }) => (typeof id === 'string' ? [id] : []));
  return {
    fresh: fresh.length,
    invoiceIds: [...new Set(ids)],
    since,
    hasAttention: false,
  };
}

/** Inserts facts inside the caller's transaction; the caller refreshes the invoices. */
export async function insertFacts(session: Statements, facts: readonly Fact[]): Promise<Taken> {
  const { invoiceIds, ...lines } = factLines(facts);
  for (const [name, batch] of Object.entries(lines)) {
    if (batch.length > 0) await session.insert(`${name}_ledger`, batch);
  }
  return {
    fresh: facts.filter(changesLedgers).length,
    ...{
      invoiceIds,
      since: oldestInstant(facts.map(({ at }) => at)),
      hasAttention: lines.attention.length > 0,
    },
  };
}

function oldestInstant(instants: readonly string[]): string {
  return instants.map((at) => instant(at) ?? at).sort()[0] ?? '-infinity';
}

/** Sets records aside inside the caller's transaction. @returns those that were not set aside before */
export async function insertSetAside(
  statements: Statements,
  records: readonly SetAside[],
  now: Date,
): Promise<readonly SetAside[]> {
  const fresh: SetAside[] = [];
  for (const { place, why } of records) {
    const record = { place: printable(place, 300), why: printable(why, 300) };
    const inserted = await statements.all('insert-set-aside', { ...record, recorded_at: now.toISOString() });
    if (inserted.length > 0) fresh.push(record);
  }
  return fresh;
}

export async function readSetAside(database: {
  all(name: string): Promise<readonly Row[]>;
}): Promise<readonly SetAside[]> {
  const rows = await database.all('select place, why from set_aside order by recorded_at, place');
  return rows.map(({ place, why }) => ({ place: String(place), why: String(why) }));
}

/** Whether the record alone causes the error, so that it always fails. Errors of disk, memory and network are retried. */
export function isRecordError(error: unknown): error is Error {
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) return true;
  return isRowError(error) || isDataException(error);
}

/** PostgreSQL's error classes 22 (data) and 23 (integrity), and 54000: a value that is too large for an index. */
function isDataException(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^(?:22|23)[0-9A-Z]{3}$|^54000$/.test(code);
}
