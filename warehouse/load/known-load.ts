/** Whether there is anything to do for a file; asked before the transaction, which asks again. */

import type { Ledgers } from '../duckdb/statements.ts';
import { deriveInvoice } from '../ledger/derive-invoice.ts';
import type { InvoiceLines } from '../ledger/invoice-lines.ts';
import { readInvoiceLines } from '../ledger/invoice-states.ts';
import type { LoadOutcome, LoadRequest } from '../warehouse.ts';
import { loadedRows } from './commit-load.ts';
import type { FileLoad } from './file-load.ts';

type Asked = Pick<LoadRequest, 'invoiceId' | 'sha256'>;

/** @returns in their order the answer for an invoice that is voided or has this file already; null: there is work to do */
export async function knownLoads(
  ledgers: Ledgers,
  asked: readonly Asked[],
): Promise<readonly (LoadOutcome | null)[]> {
  const files = asked.map(({ invoiceId, sha256 }) => ({ invoice_id: invoiceId, file_sha256: sha256 }));
  const rows = await ledgers.all('load-known', { files: JSON.stringify(files) });
  if (rows.length === 0) return asked.map(() => null);
  const known = new Map(rows.map((row) => [`${row.invoice_id} ${row.file_sha256}`, row]));
  const loaded = rows.filter(({ is_voided: isVoided }) => isVoided !== true);
  const ids = [...new Set(loaded.map((row) => String(row.invoice_id)))];
  const lines =
    ids.length === 0
      ? new Map<string, InvoiceLines>()
      : await ledgers.transaction((statements) => readInvoiceLines(statements, ids));
  return asked.map((load) => {
    const row = known.get(`${load.invoiceId} ${load.sha256}`);
    if (row?.is_voided === true) return { outcome: 'voided' };
    return row === undefined ? null : alreadyLoaded(load, lines.get(load.invoiceId));
  });
}

/** `knownLoads` of one. */
export async function knownLoad(ledgers: Ledgers, asked: Asked): Promise<LoadOutcome | null> {
  const [known] = await knownLoads(ledgers, [asked]);
  return known ?? null;
}

/** `knownLoads` of files that are about to be loaded. */
export function knownFiles(
  ledgers: Ledgers,
  loads: readonly Pick<FileLoad, 'invoiceId' | 'file'>[],
): Promise<readonly (LoadOutcome | null)[]> {
  const asked = loads.map(({ invoiceId, file }) => ({ invoiceId, sha256: file.sha256 }));
  return knownLoads(ledgers, asked);
}

function alreadyLoaded({ sha256 }: Asked, of: InvoiceLines | undefined): LoadOutcome | null {
  const derived = of === undefined ? null : deriveInvoice(of);
  if (of === undefined || derived === null) return null;
  const load = of.loads.find((line) => line.file_sha256 === sha256);
  if (load === undefined) return null;
  const counting = of.loads.find((line) => line.load_id === derived.row.current_load_id);
  return {
    outcome: 'already_loaded',
    countingVersion: counting?.version ?? null,
    ...loadedRows(load, derived, of),
  };
}
