/** Reads what the ledgers say about invoices, derives their rows and writes them: the only writer of `invoice_state`. */

import type { Row, Statements } from './database.js';
import {
  type AttentionLine,
  type DerivedInvoice,
  deriveInvoice,
  type Evidence,
  type InvoiceLines,
  type LoadLine,
} from './derive-invoice.js';

/** Inside the caller's transaction. An invoice that nothing is known of has empty lines. */
export async function readInvoiceLines(
  session: Statements,
  invoiceIds: readonly string[],
): Promise<ReadonlyMap<string, InvoiceLines>> {
  const params = { invoice_ids: `[${invoiceIds.join(', ')}]` };
  const evidence = groupById(await session.all('read-evidence', params));
  const loads = groupById(await session.all('read-loads', params));
  const attention = groupById(await session.all('read-attention', params));
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

/** Makes the invoices' rows again from the ledgers, inside the caller's transaction. Ids in lower case. */
export async function refreshInvoices(session: Statements, invoiceIds: readonly string[]): Promise<void> {
  if (invoiceIds.length === 0) return;
  const lines = await readInvoiceLines(session, [...new Set(invoiceIds)]);
  await writeInvoices(session, lines);
}

/** Derives and writes; answers what was derived. */
export async function writeInvoices(
  session: Statements,
  lines: ReadonlyMap<string, InvoiceLines>,
): Promise<ReadonlyMap<string, DerivedInvoice>> {
  const derived = new Map<string, DerivedInvoice>();
  for (const [id, of] of lines) {
    const invoice = deriveInvoice(of);
    if (invoice !== null) derived.set(id, invoice);
  }
  if (derived.size === 0) return derived;
  const ids = `[${[...derived.keys()].join(', ')}]`;
  const held = new Map(
    (await session.all('held-states', { invoice_ids: ids })).map((row) => [String(row.invoice_id), row]),
  );
  // Forgotten and inserted, never updated: this version of DuckDB can lose an update from null to a text (ADR).
  if (held.size > 0) await session.all('forget-states', { invoice_ids: ids });
  const rows = [...derived].map(([id, { row }]) => ({ invoice_id: id, ...row }));
  await session.all('insert-states', { states: JSON.stringify(rows) });
  if ([...held.values()].some((row) => row.has_discrepancies === true)) {
    await session.all('forget-discrepancies', { invoice_ids: ids });
  }
  const found = [...derived].flatMap(([id, { discrepancies }]) =>
    discrepancies.map((line) => ({ invoice_id: id, ...line })),
  );
  if (found.length > 0) await session.all('write-discrepancies', { discrepancies: JSON.stringify(found) });
  return derived;
}

function groupById(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const id = String(row.invoice_id);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, [row]);
    else group.push(row);
  }
  return groups;
}
