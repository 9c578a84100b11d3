/** Writes batches of events and facts into the ledgers; the caller refreshes the invoices that were touched. */

import type { ArchivedEvent, Fact } from '../archive/archive.js';
import type { Statements } from './database.js';
import { eventLine, factLines } from './ledger-lines.js';

export interface TakenEvents {
  /** Ids that were not in the ledger before, or were refused before. */
  readonly fresh: readonly string[];
  readonly invoiceIds: readonly string[];
}

/** Inside the caller's transaction. Does not refresh. */
export async function takeEvents(
  session: Statements,
  events: readonly ArchivedEvent[],
): Promise<TakenEvents> {
  if (events.length === 0) return { fresh: [], invoiceIds: [] };
  // One statement must not meet an id twice; the first line is the one the archive has.
  const byId = new Map(events.toReversed().map((event) => [event.eventId, event]));
  const told = { events: JSON.stringify([...byId.values()].map(eventLine)) };
  await session.all('release-events', told);
  const rows = await session.all('take-events', told);
  const ids = rows.flatMap((row) => (typeof row.invoice_id === 'string' ? [row.invoice_id] : []));
  return { fresh: rows.map((row) => String(row.event_id)), invoiceIds: [...new Set(ids)] };
}

/** Inside the caller's transaction. Answers the invoices touched; does not refresh. */
export async function takeFacts(session: Statements, facts: readonly Fact[]): Promise<readonly string[]> {
  const { invoiceIds, ...lines } = factLines(facts);
  for (const [name, batch] of Object.entries(lines)) {
    if (batch.length > 0) await session.all(`take-${name}`, { facts: JSON.stringify(batch) });
  }
  return invoiceIds;
}
