/** What loading a file would come to, said without writing anything: the answer of a dry run. */

import type { ArchivedFile } from '../contract/csv-file.js';
import { fromTenThousandths, toTenThousandths } from '../contract/decimal.js';
import type { InvoiceHeader } from '../contract/invoice-event.js';
import { CSV_HEADERS, type CsvHeader, type WebhookStatus } from '../contract/names.js';
import { judgeRows, loadedRows } from './commit-load.js';
import { deriveInvoice, type Evidence, type InvoiceLines } from './derive-invoice.js';
import type { FileLoad } from './file-load.js';
import { findBrokenRows } from './find-broken-rows.js';
import { readInvoiceLines } from './invoice-states.js';
import { knownLoad } from './known-load.js';
import { factLines } from './ledger-lines.js';
import { Refusal, refusedByScan } from './refusal.js';
import type { Ledgers, Row } from './statements.js';
import type { JudgedOutcome } from './warehouse.js';

export interface FileToJudge {
  /** In lower case. */
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  /** Of the file on this machine; it need not lie in the archive. */
  readonly csvPath: string;
  /** What the service says of the invoice and the ledgers may not have heard; null: it was not asked, or knows none. */
  readonly details: {
    readonly status: WebhookStatus | null;
    readonly header: Partial<InvoiceHeader>;
  } | null;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** @throws MisreadError when csv-parse counts other records than the byte scan */
export async function judgeFile(ledgers: Ledgers, asked: FileToJudge): Promise<JudgedOutcome> {
  const { invoiceId, file, csvPath } = asked;
  const lines = await linesOf(ledgers, asked);
  if (deriveInvoice(lines)?.row.state === 'voided') return { outcome: 'voided' };
  const known = await knownLoad(ledgers, { invoiceId, sha256: file.sha256 });
  if (known !== null) return known;
  if (file.scan.findingCount > 0) return refusedByScan({ file, csvPath, invoiceId });
  const totals = new Totals();
  const { findings, findingCount } = await findBrokenRows(csvPath, invoiceId, {
    onGoodRow: (row) => totals.add(row),
  });
  if (findingCount > 0) return { outcome: 'rejected', findings, findingCount };
  return judgeTotals(asked, totals.rows(), lines);
}

function judgeTotals(
  { invoiceId, file, csvPath, at }: FileToJudge,
  totals: Row[],
  lines: InvoiceLines,
): JudgedOutcome {
  const load: FileLoad = {
    ...{ invoiceId, file, csvPath, announcedSha256: null, eventId: null, workflowRunId: null },
    ...{ source: 'file', loadId: 0, version: null, loadedAt: at, isRepeated: false },
  };
  try {
    const line = judgeRows(load, totals, lines);
    const derived = deriveInvoice({ ...lines, loads: [...lines.loads, line] });
    const { loadId: _, version: _none, ...rows } = loadedRows(line, derived ?? undefined);
    return { outcome: 'checked', ...rows };
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    throw error;
  }
}

/** What the ledgers say, and the details as if they had been recorded. */
async function linesOf(ledgers: Ledgers, { invoiceId, details, at }: FileToJudge): Promise<InvoiceLines> {
  const found = await ledgers.transaction((statements) => readInvoiceLines(statements, [invoiceId]));
  const lines = found.get(invoiceId) ?? { evidence: [], loads: [], attention: [] };
  if (details === null) return lines;
  const [told] = factLines([{ kind: 'details', at, invoiceId, ...details }]).details;
  const unsaid = { stamp: at, event_id: null, event_type: null, partner_id: null, announced_sha256: null };
  return { ...lines, evidence: [...lines.evidence, { ...told, ...unsaid } as unknown as Evidence] };
}

interface Total {
  shipments: number;
  cost: bigint;
  tenant: string;
  first: string;
  last: string;
}

const INDEX = Object.fromEntries(CSV_HEADERS.map((name, index) => [name, index])) as Record<
  CsvHeader,
  number
>;

/** What rows amount to for each currency, as `load-totals.sql` says it of rows that are loaded. */
class Totals {
  readonly #of = new Map<string, Total>();
  #rows = 0;

  /** A row that breaks no rule. */
  add(row: readonly string[]): void {
    const cell = (name: CsvHeader): string => row[INDEX[name]] ?? '';
    const [code, tenant, day] = [cell('Currency Code'), cell('Tenant'), cell('Ship Date')];
    const total = this.#of.get(code) ?? { shipments: 0, cost: 0n, tenant, first: day, last: day };
    total.shipments += 1;
    total.cost += toTenThousandths(cell('Billing Cost'));
    if (tenant < total.tenant) total.tenant = tenant;
    if (day < total.first) total.first = day;
    if (day > total.last) total.last = day;
    this.#of.set(code, total);
    this.#rows += 1;
  }

  rows(): Row[] {
    return [...this.#of].map(([currency_code, { shipments, cost, tenant, first, last }]) => ({
      ...{
        load_id: 0,
        currency_code,
        is_code: true,
        shipments,
        billing_cost: fromTenThousandths(cost),
        tenant,
      },
      ...{ first_ship_date: first, last_ship_date: last, first_row: 1, last_row: this.#rows },
    }));
  }
}
