/** The invoice CSV of spec 2.8 exists only as a stream of chunks. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { MALFORMATIONS } from '../faults/malformed-csv.ts';
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

const CHUNK_BYTES = 64 * 1024;
const CHUNKS_PER_TURN = 4;
/** Per UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/** @throws RangeError for an unknown malformation */
export function* csvChunks(
  source: CsvSource,
  malformation: string | null,
  onRow: (row: BilledShipment) => void = () => {},
): Generator<Buffer> {
  for (const view of csvViews(source, malformation, onRow)) yield Buffer.from(view);
}

export async function measureCsv(source: CsvSource, malformation: string | null): Promise<CsvFacts> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let rows = 0;
  let total = 0n;
  let chunks = 0;
  for (const view of csvViews(source, malformation, (row) => {
    rows += 1;
    total += row.cost;
  })) {
    hash.update(view);
    sizeBytes += view.length;
    chunks += 1;
    if (chunks % CHUNKS_PER_TURN === 0) await setImmediate();
  }
  return { sha256: hash.digest('hex'), sizeBytes, rows, totalAmount: moneyText(total) };
}

/** Views of one buffer, each valid until the next iteration, so that measuring a file does not allocate its size. */
function* csvViews(
  source: CsvSource,
  malformation: string | null,
  onRow: (row: BilledShipment) => void,
): Generator<Buffer> {
  const records =
    malformation === null ? rightRecords(source, onRow) : brokenRecords(source, malformation, onRow);
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let filled = 0;
  for (const record of records) {
    const maxBytes = typeof record === 'string' ? record.length * MAX_BYTES_PER_UNIT : record.length;
    if (filled + maxBytes > CHUNK_BYTES && filled > 0) {
      yield buffer.subarray(0, filled);
      filled = 0;
    }
    if (maxBytes > CHUNK_BYTES) yield Buffer.from(record as string);
    else filled += typeof record === 'string' ? buffer.write(record, filled) : record.copy(buffer, filled);
  }
  if (filled > 0) yield buffer.subarray(0, filled);
}

export function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function* rightRecords(source: CsvSource, onRow: (row: BilledShipment) => void): Generator<string> {
  yield `${CSV_HEADERS.join(',')}\r\n`;
  const { invoice, tenantColumn, find } = source;
  const front = `${csvField(tenantColumn)},${invoice.invoiceDate},${invoice.invoiceId},`;
  for (const row of shipmentsOf(invoice, find)) {
    onRow(row);
    const s = row.shipment;
    yield `${front}${csvField(s.shipDate)},${csvField(s.origin)},${invoice.currencyCode},${s.billingCost},` +
      `${s.billableWeight},${s.billableWeightUnit},${csvField(s.trackingNumber)},${csvField(s.carrier)},` +
      `${csvField(s.carrierZone)},${csvField(s.carrierInvoiceDate)},${csvField(s.serviceLevel)}\r\n`;
  }
}

function* brokenRecords(
  source: CsvSource,
  malformation: string,
  onRow: (row: BilledShipment) => void,
): Generator<string | Buffer> {
  const definition = MALFORMATIONS[malformation];
  if (definition === undefined) throw new RangeError(`There is no malformation "${malformation}".`);
  yield* definition.write({ header: CSV_HEADERS, rows: cellsOf(source, onRow), field: csvField });
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
