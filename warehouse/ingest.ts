/**
 * Reads on in the archive: events and facts that the ledgers do not have yet.
 *
 * This is the only way facts get into the warehouse, in daily work as in a rebuild, so both end in the same rows. The
 * cursor moves in the transaction that takes the lines in: a crash repeats or skips nothing.
 */

import type { Archive, ArchivedEvent, Fact } from '../archive/archive.js';
import { refreshInvoices, type Taken } from './invoice-states.js';
import type { Ledgers, Statements } from './statements.js';
import { takeEvents, takeFacts } from './take-ledger-lines.js';

export type LoadFact = Fact & { readonly kind: 'load' };

export interface Ingested {
  readonly events: number;
  readonly facts: number;
  /** Ledger lines written; a fact of a load that is here already is none. */
  readonly changes: number;
  /** Loads that the archive tells of and the warehouse does not have. */
  readonly missingLoads: readonly LoadFact[];
  /** Where the archive should tell of something and is damaged. */
  readonly unreadable: readonly string[];
}

export interface IngestOptions {
  readonly database: Ledgers;
  readonly archive: Archive;
  /** Holds the invoices' locks around a batch. */
  readonly lock: <T>(invoiceIds: readonly string[], work: () => Promise<T>) => Promise<T>;
  readonly onProgress?: (done: { readonly events: number; readonly facts: number }) => void;
}

const BATCH = 2_000;

export async function ingest(options: IngestOptions): Promise<Ingested> {
  const cursors = new Map(
    (await options.database.all('read-cursors')).map((row) => [String(row.stream), String(row.position)]),
  );
  let events = 0;
  let facts = 0;
  let changes = 0;
  const missingLoads: LoadFact[] = [];
  const unreadable: string[] = [];

  const after = cursors.get('events');
  const archived = options.archive.events(after === undefined ? {} : { after });
  for await (const batch of batches(archived)) {
    const lines = batch.map((entry) => entry.event);
    await takeBatch(
      options,
      { stream: 'events', position: batch.at(-1)?.cursor ?? '' },
      invoicesOf(lines),
      async (session) => {
        const taken = await takeEvents(session, lines);
        events += taken.fresh.length;
        return taken;
      },
    );
    options.onProgress?.({ events, facts });
  }

  const told = options.archive.factsAfter(cursors.get('facts') ?? null, ({ where }) =>
    unreadable.push(where),
  );
  for await (const batch of batches(told)) {
    const lines = batch.map((entry) => entry.fact);
    await takeBatch(
      options,
      { stream: 'facts', position: batch.at(-1)?.cursor ?? '' },
      factInvoices(lines),
      (session) => takeFacts(session, lines),
    );
    facts += lines.length;
    changes += lines.filter((fact) => fact.kind !== 'load' && fact.kind !== 'discard').length;
    missingLoads.push(...(await findMissing(options.database, lines)));
    options.onProgress?.({ events, facts });
  }
  return { events, facts, changes: changes + events, missingLoads, unreadable };
}

async function takeBatch(
  { database, lock }: IngestOptions,
  cursor: { readonly stream: string; readonly position: string },
  invoiceIds: readonly string[],
  take: (session: Statements) => Promise<Taken>,
): Promise<void> {
  await lock(invoiceIds, () =>
    database.transaction(async (session) => {
      await refreshInvoices(session, await take(session));
      // An upsert would do, at five times the cost.
      const moved = await session.all('move-cursor', { ...cursor });
      if (moved.length === 0) await session.all('write-cursor', { ...cursor });
    }),
  );
}

async function findMissing(database: Ledgers, facts: readonly Fact[]): Promise<readonly LoadFact[]> {
  const told = new Map<number, LoadFact>();
  for (const fact of facts) if (fact.kind === 'load') told.set(fact.loadId, fact);
  if (told.size === 0) return [];
  const rows = await database.all('unknown-loads', { load_ids: `[${[...told.keys()].join(', ')}]` });
  return rows.flatMap((row) => told.get(Number(row.load_id)) ?? []);
}

function invoicesOf(events: readonly ArchivedEvent[]): readonly string[] {
  return [
    ...new Set(
      events.flatMap(({ event }) => (event === null ? [] : [event.invoice.invoiceId.toLowerCase()])),
    ),
  ];
}

function factInvoices(facts: readonly Fact[]): readonly string[] {
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
