/**
 * The part of a load that makes it count: behind the fence, rows, their proof, the load's line and its invoice's row,
 * read back after the commit.
 */

import { isCurrency } from './currencies.js';
import type { Row, Session, Statements } from './database.js';
import { contradictions, deriveInvoice, type InvoiceLines, type LoadLine } from './derive-invoice.js';
import { LoadedMeanwhileError, LoadLostError, MisreadError } from './errors.js';
import type { FileLoad, FileLoadOutcome, LoadedRows, LoadPlaces } from './file-load.js';
import { readInvoiceLines, writeInvoices } from './invoice-states.js';
import { Refusal } from './refusal.js';

/** @param how.insert puts the rows into the table. @throws Refusal, LoadedMeanwhileError, LoadLostError, MisreadError */
export async function commitLoad(
  session: Session,
  load: FileLoad,
  { places, insert }: { readonly places: LoadPlaces; readonly insert: () => Promise<unknown> },
): Promise<FileLoadOutcome> {
  const loaded = await places.ledger(session, async (ledger) => {
    const lines = await readFence(ledger, load);
    const line = await places.rows(session, async () => {
      await insert();
      return checkRows(session, load, lines);
    });
    return insertLoad(ledger, load, { line, lines });
  });
  const found = await session.first('read-back', { load_id: load.loadId });
  if (Number(found.loads) !== 1 || Number(found.shipments) !== loaded.shipments) {
    throw new LoadLostError(
      load.invoiceId,
      `${loaded.shipments} rows were committed, ${found.shipments} are there`,
    );
  }
  return { outcome: 'loaded', ...loaded };
}

/** What the rows amount to. @throws Refusal, MisreadError when that is not what may be loaded */
async function checkRows(session: Session, load: FileLoad, lines: InvoiceLines): Promise<NewLine> {
  const line = await readLine(session, load, lines);
  const unknown = line.currencies.split(',').find((code) => code !== '' && !isCurrency(code));
  // Where it stands is looked up behind the transaction, not while everybody waits for its end.
  if (unknown !== undefined) throw new MisreadError(load.invoiceId, `'${unknown}' is no currency`);
  if (!load.isRepeated) refuseUnproved(load, line, lines);
  return line;
}

/** What the ledgers say inside this transaction: the fence against a void and against a second load of the file. */
async function readFence(ledger: Statements, load: FileLoad): Promise<InvoiceLines> {
  const lines = (await readInvoiceLines(ledger, [load.invoiceId])).get(load.invoiceId) ?? NOTHING;
  if (load.isRepeated) return lines;
  if (deriveInvoice(lines)?.row.state === 'voided') throw new Refusal({ outcome: 'voided' });
  if (lines.loads.some((line) => line.file_sha256 === load.file.sha256)) {
    throw new LoadedMeanwhileError(load.invoiceId, load.file.sha256);
  }
  return lines;
}

const NOTHING: InvoiceLines = { evidence: [], loads: [], attention: [] };

interface NewLine extends LoadLine {
  readonly tenant: string | null;
}

async function insertLoad(
  ledger: Statements,
  load: FileLoad,
  { line, lines }: { readonly line: NewLine; readonly lines: InvoiceLines },
): Promise<LoadedRows> {
  await ledger.all('insert-load', {
    ...line,
    invoice_id: load.invoiceId,
    file_size_bytes: load.file.sizeBytes,
    file_source: load.source,
    event_id: load.eventId,
    workflow_run_id: load.workflowRunId,
  });
  const after = new Map([[load.invoiceId, { ...lines, loads: [...lines.loads, line] }]]);
  const derived = (await writeInvoices(ledger, after)).get(load.invoiceId);
  return {
    version: line.version,
    shipments: line.shipments,
    billingCost: line.billing_cost,
    currencyCode: line.currency_code ?? '',
    proof: derived?.row.proof ?? 'unproved',
    discrepancies: (derived?.discrepancies ?? []).map(({ rule, stated, found }) => ({ rule, stated, found })),
  };
}

/** Reads the inserted rows inside the transaction and holds them against the byte scan. */
async function readLine(session: Session, load: FileLoad, lines: InvoiceLines): Promise<NewLine> {
  const totals = await session.all('load-totals', { load_id: load.loadId });
  const shipments = totals.reduce((sum, total) => sum + Number(total.shipments), 0);
  expectRows(load, { shipments, totals });
  const stated = deriveInvoice(lines)?.row.currency_code ?? null;
  const largest = totals.toSorted((a, b) => Number(b.shipments) - Number(a.shipments))[0];
  const main = totals.find((total) => total.currency_code === stated) ?? largest;
  const sorted = (column: string): string[] => totals.map((total) => String(total[column])).sort();
  return {
    load_id: load.loadId,
    version: load.version ?? Math.max(0, ...lines.loads.map((line) => line.version)) + 1,
    file_sha256: load.file.sha256,
    announced_sha256: load.announcedSha256,
    tenant: sorted('tenant')[0] ?? null,
    shipments,
    billing_cost: main === undefined ? '0.0000' : String(main.billing_cost),
    currency_code: main === undefined ? null : String(main.currency_code),
    currencies: sorted('currency_code').join(','),
    first_ship_date: sorted('first_ship_date')[0] ?? null,
    last_ship_date: sorted('last_ship_date').at(-1) ?? null,
    ends_with_line_end: load.file.scan.endsWithLineEnd,
    loaded_at: load.loadedAt,
  };
}

/**
 * Without an announced hash the header is all that can prove the file (decision: proof). With one, a header that
 * differs is a discrepancy to report, not a reason to withhold what was billed.
 */
function refuseUnproved(load: FileLoad, line: NewLine, lines: InvoiceLines): void {
  if (load.announcedSha256 === load.file.sha256) return;
  const derived = deriveInvoice({ ...lines, loads: [...lines.loads, line] });
  const header = deriveInvoice(lines)?.row;
  if (header !== undefined) {
    const discrepancies = contradictions(header, line).filter(
      ({ rule }) => rule !== 'currency' || header.currency_code !== null,
    );
    if (discrepancies.length > 0) throw new Refusal({ outcome: 'contradicted', discrepancies });
  }
  if (derived?.row.proof === 'unproved' && !line.ends_with_line_end) {
    // The last line may be cut off, and nothing that we know could tell.
    const value = 'the file does not end with CRLF and neither hash nor header proves it';
    const finding = { line: null, row: line.shipments, column: null, rule: 'no-final-line-end', value };
    throw new Refusal({ outcome: 'rejected', findings: [finding], findingCount: 1 });
  }
}

/** The scan is the first reader, DuckDB the second. Unlike counts are our fault or the disk's, never the sender's. */
function expectRows(
  load: FileLoad,
  { shipments, totals }: { readonly shipments: number; readonly totals: readonly Row[] },
): void {
  const { records } = load.file.scan;
  if (shipments !== records) {
    throw new MisreadError(
      load.invoiceId,
      `the byte scan counted ${records} records, DuckDB read ${shipments} rows`,
    );
  }
  const first = Math.min(...totals.map((total) => Number(total.first_row)));
  const last = Math.max(...totals.map((total) => Number(total.last_row)));
  if (first !== 1 || last !== records) {
    throw new MisreadError(load.invoiceId, `rows are numbered ${first} to ${last}, not 1 to ${records}`);
  }
}
