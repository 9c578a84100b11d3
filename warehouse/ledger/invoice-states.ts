/** This module is the only writer of `invoice_state`. */

import assert from 'node:assert/strict';
import { camelCase, type Statements } from '../duckdb/statements.ts';
import { type DerivedInvoice, deriveInvoice } from './derive-invoice.ts';
import type { AttentionLine, Evidence, InvoiceLines, LoadLine } from './invoice-lines.ts';

export interface StoredInvoice {
  /** DuckDB's rowid, valid until the transaction ends; null in PostgreSQL. */
  readonly place: string | null;
  /** ISO 8601 UTC; no line is older. */
  readonly firstSeenAt: string;
  readonly hasLoads: boolean;
  readonly hasAttention: boolean;
  readonly hasDiscrepancies: boolean;
}

export interface Taken {
  /** How many records changed a ledger. */
  readonly fresh: number;
  readonly invoiceIds: readonly string[];
  /** ISO 8601 UTC; no line is older. */
  readonly since: string;
  readonly hasAttention: boolean;
}

/** Limits the ledgers that are read: planning a statement costs more than running it. */
type Scope = Pick<StoredInvoice, 'hasLoads' | 'hasAttention'> & { readonly since: string };

const ANYWHERE: Scope = { since: '-infinity', hasLoads: true, hasAttention: true };

/** Inside the caller's transaction. An unknown invoice has no lines. */
export async function readInvoiceLines(
  session: Statements,
  invoiceIds: readonly string[],
  { since, hasLoads, hasAttention } = ANYWHERE,
): Promise<ReadonlyMap<string, InvoiceLines>> {
  const params = { invoice_ids: invoiceIds.join(','), since };
  const read = async (name: string, isNeeded: boolean) =>
    Map.groupBy(isNeeded ? await session.all(name, params) : [], (row) => String(row.invoice_id));
  const evidence = await read('read-evidence', true);
  const loads = await read('read-loads', hasLoads);
  const attention = await read('read-attention', hasAttention);
  return new Map(
    invoiceIds.map((id) => [
      id,
      {
        evidence: (evidence.get(id) ?? []) as unknown as readonly Evidence[],
        loads: (loads.get(id) ?? []) as unknown as readonly LoadLine[],
        attention: (attention.get(id) ?? []) as unknown as readonly AttentionLine[],
      },
    ]),
  );
}

export async function refreshInvoices(session: Statements, taken: Taken): Promise<void> {
  if (taken.invoiceIds.length === 0) return;
  const { stored, lines } = await readStoredLines(session, taken.invoiceIds, taken);
  await writeInvoices(session, lines, stored);
}

/**
 * No ledger is read further back than these invoices begin, so that the cost does not depend on the number of all.
 * @param taken lines that are not part of the rows yet
 */
export async function readStoredLines(
  session: Statements,
  invoiceIds: readonly string[],
  taken: Pick<Taken, 'since' | 'hasAttention'> | null = null,
): Promise<{
  readonly stored: ReadonlyMap<string, StoredInvoice>;
  readonly lines: ReadonlyMap<string, InvoiceLines>;
}> {
  const ids = [...new Set(invoiceIds)];
  const stored = await readStored(session, ids);
  const rows = [...stored.values()];
  // `-infinity` sorts before every instant.
  const [first] = [
    ...rows.map(({ firstSeenAt }) => firstSeenAt),
    ...(taken === null ? [] : [taken.since]),
  ].sort();
  if (first === undefined) return { stored, lines: new Map() };
  const lines = await readInvoiceLines(session, ids, {
    since: first,
    // A load is inserted with the row of its invoice, so an unknown row has no loads.
    hasLoads: rows.some(({ hasLoads }) => hasLoads),
    hasAttention: taken?.hasAttention === true || rows.some(({ hasAttention }) => hasAttention),
  });
  return { stored, lines };
}

export async function writeInvoices(
  session: Statements,
  lines: ReadonlyMap<string, InvoiceLines>,
  stored: ReadonlyMap<string, StoredInvoice>,
): Promise<ReadonlyMap<string, DerivedInvoice>> {
  const derived = new Map<string, DerivedInvoice>();
  for (const [id, of] of lines) {
    const invoice = deriveInvoice(of);
    if (invoice !== null) derived.set(id, invoice);
  }
  if (derived.size === 0) return derived;
  // Rows are deleted and inserted, never updated, because DuckDB can lose an update from null to a text (ADR 12).
  await deleteStates(session, derived, stored);
  const fresh = [...derived.keys()].filter((id) => !stored.has(id));
  if (fresh.length > 0) await session.all('claim-invoices', { invoice_ids: fresh.join(',') });
  const rows = [...derived].map(([id, { row }]) => ({ invoice_id: id, ...row }));
  await session.insert('invoice_state', rows);
  if ([...stored.values()].some(({ hasDiscrepancies }) => hasDiscrepancies)) {
    await session.all('delete-discrepancies', { invoice_ids: [...derived.keys()].join(',') });
  }
  const found = [...derived].flatMap(([id, { discrepancies }]) =>
    discrepancies.map((line) => ({ invoice_id: id, ...line })),
  );
  if (found.length > 0) await session.insert('discrepancy_lines', found);
  return derived;
}

async function deleteStates(
  session: Statements,
  derived: ReadonlyMap<string, DerivedInvoice>,
  stored: ReadonlyMap<string, StoredInvoice>,
): Promise<void> {
  const rows = [...stored].filter(([id]) => derived.has(id));
  if (rows.length === 0) return;
  const places = rows.flatMap(([, { place }]) => place ?? []);
  const params = { invoice_ids: rows.map(([id]) => id).join(','), places: places.join(',') };
  const deleted = await session.all('delete-states', params);
  // A state that was not deleted would duplicate the one that is inserted next.
  if (places.length > 0) assert.equal(deleted.length, rows.length, 'rows of invoices that are replaced');
}

async function readStored(
  session: Statements,
  invoiceIds: readonly string[],
): Promise<ReadonlyMap<string, StoredInvoice>> {
  const rows = await session.all('stored-states', { invoice_ids: invoiceIds.join(',') });
  return new Map(rows.map((row) => [String(row.invoice_id), camelCase<StoredInvoice>(row)]));
}
