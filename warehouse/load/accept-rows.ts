import { compareDecimals } from '../../lib/decimal.ts';
import { type DamageCounts, damageFindings, NO_DAMAGE } from '../../lib/wire/spreadsheet-damage.ts';
import { isCurrency } from '../csv/cell-rules.ts';
import type { Row } from '../duckdb/statements.ts';
import { WarehouseError } from '../errors.ts';
import { isDenied, isNamed } from '../ledger/derive-current.ts';
import { contradictions } from '../ledger/derive-discrepancies.ts';
import { deriveInvoice } from '../ledger/derive-invoice.ts';
import type { InvoiceLines, LoadLine } from '../ledger/invoice-lines.ts';
import { type FileLoad, Refusal, rejectedFor } from './rejections.ts';

export interface NewLine extends LoadLine {
  readonly tenant: string | null;
}

export function checkRows(load: FileLoad, totals: readonly Row[], lines: InvoiceLines): NewLine {
  const line = lineOf(load, totals, lines);
  const unknown = totals.find(
    ({ currency_code: code, is_code }) => is_code !== true || !isCurrency(String(code)),
  );
  // The row is found after the transaction, so that no other load waits for the search.
  if (unknown !== undefined) {
    throw new WarehouseError('misread', [load.invoiceId, `'${unknown.currency_code}' is not a currency`]);
  }
  if (load.isRepeated) return line;
  refuseUnprovedEmptiness(load, lines);
  refuseUnproved(line, lines);
  return checkOperatorFile(load, line, { totals, lines });
}

/** @throws Refusal a spreadsheet seems to have changed the file and that was not accepted */
function checkOperatorFile(
  { source, acceptsSpreadsheet }: FileLoad,
  line: NewLine,
  { totals, lines }: { readonly totals: readonly Row[]; readonly lines: InvoiceLines },
): NewLine {
  if (source !== 'file' || isNamed(line, lines)) return line;
  const is_denied = isDenied(line, lines);
  const findings = damageFindings(damageIn(totals));
  // A denied file is loaded without counting, so that an operator can choose it.
  if (findings.length > 0 && !is_denied && acceptsSpreadsheet !== true) {
    throw new Refusal({ outcome: 'rejected', findings, findingCount: findings.length });
  }
  return { ...line, is_denied, is_damaged: findings.length > 0 };
}

function damageIn(totals: readonly Row[]): DamageCounts {
  const sum = (name: keyof DamageCounts): number =>
    totals.reduce((all, total) => all + Number(total[name] ?? 0), 0);
  const names = Object.keys(NO_DAMAGE) as (keyof DamageCounts)[];
  return Object.fromEntries(names.map((name) => [name, sum(name)])) as unknown as DamageCounts;
}

function lineOf(load: FileLoad, totals: readonly Row[], lines: InvoiceLines): NewLine {
  const shipments = totals.reduce((sum, total) => sum + Number(total.shipments), 0);
  expectRows(load, shipments, totals);
  const stated = deriveInvoice(lines)?.row.currency_code ?? null;
  const largest = totals.toSorted(byWeight)[0];
  const main = totals.find((total) => total.currency_code === stated) ?? largest;
  const sorted = (column: string): string[] => totals.map((total) => String(total[column])).sort();
  return {
    load_id: load.loadId,
    version: load.version ?? Math.max(0, ...lines.loads.map((line) => line.version)) + 1,
    file_source: load.source,
    file_sha256: load.file.sha256,
    announced_sha256: load.announcedSha256,
    encoded_sha256: load.encodedSha256 ?? null,
    is_denied: load.isDenied ?? false,
    is_damaged: load.isDamaged ?? false,
    file_size_bytes: load.file.sizeBytes,
    tenant: sorted('tenant')[0] ?? null,
    shipments,
    billing_cost: main === undefined ? '0.0000' : String(main.billing_cost),
    currency_code: main === undefined ? stated : String(main.currency_code),
    currencies: sorted('currency_code').join(','),
    first_ship_date: sorted('first_ship_date')[0] ?? null,
    last_ship_date: sorted('last_ship_date').at(-1) ?? null,
    ends_with_line_end: load.file.scan.endsWithLineEnd,
    loaded_at: load.loadedAt,
  };
}

/** Orders currencies by rows, the most first, and ties by code, so that a rebuild has the same result. */
function byWeight(a: Row, b: Row): number {
  const order = Number(b.shipments) - Number(a.shipments);
  if (order !== 0) return order;
  return String(a.currency_code) < String(b.currency_code) ? -1 : 1;
}

/** A failed export has no rows either: such a file counts only if the invoice states no shipments and no cost. */
function refuseUnprovedEmptiness({ file, announcedSha256 }: FileLoad, lines: InvoiceLines): void {
  if (file.scan.records > 0) return;
  const header = deriveInvoice(lines)?.row;
  const isStated =
    header?.stated_shipments === 0 &&
    header.stated_total !== null &&
    compareDecimals(header.stated_total, '0') === 0;
  if (isStated && (announcedSha256 === null || announcedSha256 === file.sha256)) return;
  const { findings, findingCount } = file.scan;
  throw new Refusal({ outcome: 'rejected', findings, findingCount });
}

/**
 * Without an announced hash the header is all that can prove the file (ADR 17). With one, a header that differs is a
 * discrepancy to report, not a reason to withhold what was billed.
 */
function refuseUnproved(line: NewLine, lines: InvoiceLines): void {
  // An earlier event or response may have named the hash, when a person imports the file before a worker fetches it.
  if (isNamed(line, lines)) return;
  const derived = deriveInvoice({ ...lines, loads: [...lines.loads, line] });
  const header = deriveInvoice(lines)?.row;
  if (header !== undefined) {
    const discrepancies = contradictions(header, line).filter(
      ({ rule }) => rule !== 'currency' || header.currency_code !== null,
    );
    if (discrepancies.length > 0) throw new Refusal({ outcome: 'contradicted', discrepancies });
  }
  if (derived?.row.proof === 'unproved' && !line.ends_with_line_end) {
    // The last line may be truncated, and neither hash nor header would show it.
    const value = 'the file does not end with CRLF and neither hash nor header proves it';
    throw new Refusal(rejectedFor('no-final-line-end', value, { row: line.shipments }));
  }
}

/** Different counts of the byte scan and DuckDB are a fault of billsync or the disk, not of the sender. */
function expectRows(load: FileLoad, shipments: number, totals: readonly Row[]): void {
  const { records } = load.file.scan;
  if (shipments !== records) {
    throw new WarehouseError('misread', [
      load.invoiceId,
      `the byte scan counted ${records} records, DuckDB read ${shipments} rows`,
    ]);
  }
  if (records === 0) return;
  const first = Math.min(...totals.map((total) => Number(total.first_row)));
  const last = Math.max(...totals.map((total) => Number(total.last_row)));
  if (first !== 1 || last !== records) {
    throw new WarehouseError('misread', [
      load.invoiceId,
      `rows are numbered ${first} to ${last}, not 1 to ${records}`,
    ]);
  }
}
