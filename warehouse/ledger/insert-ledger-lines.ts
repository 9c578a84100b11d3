/** Writes batches of events and facts into the ledgers; the caller refreshes the invoices that were touched. */

import type { ArchivedEvent, Fact } from '../../archive/archive.ts';
import { wellFormedJson } from '../../lib/wire/json.ts';

import type { Statements } from '../duckdb/statements.ts';
import type { Taken } from './invoice-states.ts';
import { eventLine, factLines, instant } from './ledger-lines.ts';

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
