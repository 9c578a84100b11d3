/** The invoice CSV of spec 2.8 exists only as a stream of chunks. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { csvRecords, MALFORMATIONS, type Parts } from '../faults/malformed-csv.ts';
import { CSV_HEADERS, type Invoice } from '../model.ts';
import { moneyText } from '../money.ts';
import { type BilledShipment, type InvoiceContent, shipmentsOf } from './shipments.ts';

export interface CsvSource {
  readonly invoice: InvoiceContent & Pick<Invoice, 'invoiceId' | 'invoiceDate' | 'currencyCode'>;
  /** Tenant name, or partner name for partner-level invoices (spec 2.9). */
  readonly tenantColumn: string;
  readonly find: (invoiceId: string) => InvoiceContent;
}

export interface CsvFacts {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly rows: number;
  /** Exact sum of Billing Cost as billed, whatever a malformation changed. */
  readonly totalAmount: string;
}

const CHUNK_CHARACTERS = 64 * 1024;
const CHUNKS_PER_TURN = 4;

/** @throws RangeError for an unknown malformation */
export function* csvChunks(
  source: CsvSource,
  malformation: string | null,
  onRow: (row: BilledShipment) => void = () => {},
): Generator<Buffer> {
  const parts = { header: CSV_HEADERS, rows: cellsOf(source, onRow), field: csvField };
  let text = '';
  for (const record of malformation === null ? csvRecords(parts) : malformed(malformation, parts)) {
    if (typeof record === 'string') {
      text += record;
      if (text.length < CHUNK_CHARACTERS) continue;
    }
    yield Buffer.from(text);
    text = '';
    if (typeof record !== 'string') yield record;
  }
  yield Buffer.from(text);
}

export async function measureCsv(source: CsvSource, malformation: string | null): Promise<CsvFacts> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let rows = 0;
  let total = 0n;
  let chunks = 0;
  for (const chunk of csvChunks(source, malformation, (row) => {
    rows += 1;
    total += row.cost;
  })) {
    hash.update(chunk);
    sizeBytes += chunk.length;
    chunks += 1;
    if (chunks % CHUNKS_PER_TURN === 0) await setImmediate();
  }
  return { sha256: hash.digest('hex'), sizeBytes, rows, totalAmount: moneyText(total) };
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function malformed(malformation: string, parts: Parts): Iterable<string | Buffer> {
  const definition = MALFORMATIONS[malformation];
  if (definition === undefined) throw new RangeError(`There is no malformation "${malformation}".`);
  return definition.write(parts);
}

/** A cell for each header: one more or less does not compile. */
type Cells = CellsFor<typeof CSV_HEADERS>;
type CellsFor<Headers extends readonly string[]> = { [At in keyof Headers]: string };

function* cellsOf(source: CsvSource, onRow: (row: BilledShipment) => void): Generator<Cells> {
  const { invoice, tenantColumn, find } = source;
  for (const row of shipmentsOf(invoice, find)) {
    onRow(row);
    const s = row.shipment;
    yield [
      tenantColumn,
      invoice.invoiceDate,
      invoice.invoiceId,
      s.shipDate,
      s.origin,
      invoice.currencyCode,
      s.billingCost,
      s.billableWeight,
      s.billableWeightUnit,
      s.trackingNumber,
      s.carrier,
      s.carrierZone,
      s.carrierInvoiceDate,
      s.serviceLevel,
    ];
  }
}
