/**
 * Writes the invoice CSV of spec 2.8: UTF-8, CRLF, the header first, fields quoted when they hold a comma, a
 * quote or a line break. The file exists only as a stream of chunks.
 */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { MALFORMATIONS } from './malformed-csv.js';
import type { Invoice } from './model.js';
import { moneyText } from './money.js';
import { type BilledShipment, type InvoiceContent, shipmentsOf } from './shipments.js';

export const CSV_HEADERS = [
  'Tenant',
  'Invoice Generation Date',
  'Invoice ID',
  'Ship Date',
  'Origin',
  'Currency Code',
  'Billing Cost',
  'Billable Weight',
  'Billable Weight Unit',
  'Tracking Number',
  'Carrier',
  'Carrier Zone',
  'Carrier Invoice Date',
  'Service Level',
] as const;

/** What a file needs to know of its invoice, and how to find the invoices that a partner-level one sums. */
export interface CsvSource {
  readonly invoice: InvoiceContent & Pick<Invoice, 'invoiceId' | 'invoiceDate' | 'currencyCode'>;
  /** Tenant name, or partner name for partner-level invoices (spec 2.9). */
  readonly tenantColumn: string;
  readonly find: (invoiceId: string) => InvoiceContent;
}

/** Exact facts of a file, found by writing it once. */
export interface CsvFacts {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly rows: number;
  /** Exact sum of Billing Cost as billed, whatever a malformation made of the text. */
  readonly totalAmount: string;
}

const CHUNK_CHARACTERS = 32 * 1024;
const CHUNKS_PER_TURN = 8;

/** The bytes of the file, in chunks of some 32 KiB. @throws RangeError for an unknown malformation. */
export function* csvChunks(
  source: CsvSource,
  malformation: string | null,
  onRow: (row: BilledShipment) => void = () => {},
): Generator<Buffer> {
  const records =
    malformation === null ? rightRecords(source, onRow) : brokenRecords(source, malformation, onRow);
  let text = '';
  for (const record of records) {
    if (typeof record !== 'string') {
      yield Buffer.concat([Buffer.from(text), record]);
      text = '';
      continue;
    }
    text += record;
    if (text.length >= CHUNK_CHARACTERS) {
      yield Buffer.from(text);
      text = '';
    }
  }
  if (text !== '') yield Buffer.from(text);
}

/** Writes the file to nowhere and answers its facts; lets other work in between. */
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

/** The same records taken apart into cells, so that a malformation can spoil one of them. */
function* brokenRecords(
  source: CsvSource,
  malformation: string,
  onRow: (row: BilledShipment) => void,
): Generator<string | Buffer> {
  const spoil = MALFORMATIONS[malformation];
  if (spoil === undefined) throw new RangeError(`There is no malformation "${malformation}".`);
  yield* spoil.write({ header: CSV_HEADERS, rows: cellsOf(source, onRow), field: csvField });
}

function* cellsOf(source: CsvSource, onRow: (row: BilledShipment) => void): Generator<string[]> {
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
