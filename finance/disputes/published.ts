/** Published data about claimed lines: their credits, charges and invoices. */

import { statementIn } from '../../lib/sql-file.ts';
import { sumOfAmounts } from '../../lib/wire/decimal.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { openPublishedFile, type PublishedFile } from '../../reports/published-file.ts';
import { readColumns, readRows } from '../../reports/report-result.ts';
import { NOTHING, type NumberOf, numberKey } from './claim.ts';

const STATEMENTS = new URL('./statements.sql', import.meta.url);

/** A credit of a tracking number. */
export interface Credit {
  /** Decimal text, positive. */
  readonly amount: string;
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly rowNumber: number;
  readonly invoiceDate: string | null;
}

/** Published data about tracking numbers and invoices. */
export interface Published {
  creditsOf(line: NumberOf): readonly Credit[];
  /** Total of the number, positive decimal text. */
  creditedOf(line: NumberOf): string;
  /** How many charges of the number are counted now. */
  chargesOf(line: NumberOf): number;
  invoiceOf(invoiceId: string): PublishedInvoice | null;
}

export const NOTHING_PUBLISHED: Published = {
  creditsOf: () => [],
  creditedOf: () => NOTHING,
  chargesOf: () => 0,
  invoiceOf: () => null,
};

interface PublishedInvoice {
  readonly state: string;
  readonly voidedAt: string | null;
  /** Costs of its lines by number. */
  readonly costs: ReadonlyMap<string, readonly string[]>;
}

/**
 * @param lines claimed or to be claimed
 * @throws ReportError there is no published file yet
 */
export async function readPublished(
  databasePath: string,
  lines: readonly (NumberOf & { readonly invoiceId: string })[],
): Promise<Published> {
  const numbers = JSON.stringify([...new Set(lines.map(({ trackingNumber }) => trackingNumber))]);
  const invoices = JSON.stringify([...new Set(lines.map(({ invoiceId }) => invoiceId))]);
  const file = await openPublishedFile(databasePath);
  try {
    const amounts = new Map(
      Map.groupBy(await ask(file, 'amounts', { numbers }), (row) => numberKey(numberIn(row)))
        .entries()
        .map(([key, rows]) => [
          key,
          {
            credits: rows.filter(({ is_credit }) => is_credit === true).map(creditIn),
            charges: rows.filter(({ is_credit }) => is_credit === false).length,
          },
        ]),
    );
    const found = invoicesIn(await ask(file, 'billed', { invoices, numbers }));
    const creditsOf = (line: NumberOf): readonly Credit[] => amounts.get(numberKey(line))?.credits ?? [];
    return {
      creditsOf,
      creditedOf: (line) => sumOfAmounts(creditsOf(line).map(({ amount }) => amount)),
      chargesOf: (line) => amounts.get(numberKey(line))?.charges ?? 0,
      invoiceOf: (invoiceId) => found.get(invoiceId) ?? null,
    };
  } finally {
    file.close();
  }
}

function invoicesIn(rows: readonly ReportRow[]): ReadonlyMap<string, PublishedInvoice> {
  return new Map(
    Map.groupBy(rows, ({ invoice_id }) => String(invoice_id))
      .entries()
      .map(([id, lines]) => {
        const billed = lines.filter(({ tracking_number }) => tracking_number !== null);
        const costs = Map.groupBy(billed, (row) => numberKey(numberIn(row)));
        const voidedAt = lines[0]?.voided_at ?? null;
        const invoice = {
          state: String(lines[0]?.state),
          voidedAt: voidedAt === null ? null : String(voidedAt),
          costs: new Map(
            costs.entries().map(([key, of]) => [key, of.map(({ billing_cost }) => String(billing_cost))]),
          ),
        };
        return [id, invoice] as const;
      }),
  );
}

function numberIn(row: ReportRow): NumberOf {
  return {
    partnerId: row.partner_id === null || row.partner_id === undefined ? null : String(row.partner_id),
    invoiceLevel: String(row.invoice_level),
    carrier: String(row.carrier),
    trackingNumber: String(row.tracking_number),
    currencyCode: String(row.currency_code),
  };
}

function creditIn(row: ReportRow): Credit {
  return {
    amount: String(row.amount),
    invoiceId: String(row.invoice_id),
    invoiceNumber: row.invoice_number === null ? null : String(row.invoice_number),
    rowNumber: Number(row.row_number),
    invoiceDate: row.invoice_date === null ? null : String(row.invoice_date),
  };
}

async function ask(
  file: PublishedFile,
  name: 'amounts' | 'billed',
  values: Readonly<Record<string, string>>,
): Promise<readonly ReportRow[]> {
  const reader = await file.query(statementIn(STATEMENTS, name), values);
  return readRows(reader, readColumns(reader, { units: {}, details: [] }));
}
