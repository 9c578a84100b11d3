import { sumOfAmounts } from '../../lib/decimal.ts';
import { openPublishedFile } from '../../reports/open-published-file.ts';
import { readStatement } from '../../reports/report-result.ts';
import { type NumberOf, numberKey } from './claim.ts';

const STATEMENTS = new URL('./claim-queries.sql', import.meta.url);

export interface Credit {
  /** Decimal text of the credit, as a positive amount. */
  readonly amount: string;
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly row_number: number;
  readonly invoice_date: string | null;
}

interface PublishedInvoice {
  readonly voided_at: string | null;
  readonly owner: Pick<NumberOf, 'partner_id' | 'invoice_level'>;
  readonly costs: ReadonlyMap<string, readonly string[]>;
}

type AmountRow = NumberOf & Credit & { readonly is_credit: boolean };
type BilledRow = NumberOf & {
  readonly invoice_id: string;
  readonly voided_at: string | null;
  readonly billing_cost: string;
};

export type Published = ReturnType<typeof publishedIn>;
export const NOTHING_PUBLISHED = publishedIn([], []);

/** @throws ReportError there is no published file yet */
export async function readPublished(
  databasePath: string,
  lines: readonly (NumberOf & { readonly invoice_id: string })[],
): Promise<Published> {
  const numbers = JSON.stringify([...new Set(lines.map(({ tracking_number }) => tracking_number))]);
  const invoices = JSON.stringify([...new Set(lines.map(({ invoice_id }) => invoice_id))]);
  const file = await openPublishedFile(databasePath);
  try {
    const rowsOf = async (name: string, values: Readonly<Record<string, string>>): Promise<unknown> =>
      (await readStatement(file, { statements: STATEMENTS, name, values })).rows;
    const amounts = await rowsOf('amounts', { numbers });
    const billed = await rowsOf('billed', { invoices, numbers });
    return publishedIn(amounts as readonly AmountRow[], billed as readonly BilledRow[]);
  } finally {
    file.close();
  }
}

function publishedIn(amounts: readonly AmountRow[], billed: readonly BilledRow[]) {
  const byNumber = Map.groupBy(amounts, numberKey);
  const invoices = invoicesIn(billed);
  const ofNumber = (line: NumberOf): readonly AmountRow[] => byNumber.get(numberKey(line)) ?? [];
  const creditsOf = (line: NumberOf): readonly Credit[] =>
    ofNumber(line)
      .filter(({ is_credit }) => is_credit)
      .map(({ amount, invoice_id, invoice_number, row_number, invoice_date }) => ({
        ...{ amount, invoice_id, invoice_number, row_number, invoice_date },
      }));
  return {
    creditsOf,
    creditedOf: (line: NumberOf): string => sumOfAmounts(creditsOf(line).map(({ amount }) => amount)),
    chargesOf: (line: NumberOf): number => ofNumber(line).filter(({ is_credit }) => !is_credit).length,
    invoiceOf: (invoiceId: string) => invoices.get(invoiceId) ?? null,
  };
}

function invoicesIn(rows: readonly BilledRow[]): ReadonlyMap<string, PublishedInvoice> {
  const invoices = Map.groupBy(rows, ({ invoice_id }) => invoice_id).entries();
  return new Map(
    invoices.map(([id, lines]) => {
      const billed = lines.filter(({ tracking_number }) => tracking_number !== null);
      const byNumber = Map.groupBy(billed, numberKey).entries();
      const costs = byNumber.map(([key, of]) => [key, of.map(({ billing_cost }) => billing_cost)] as const);
      const { voided_at = null, partner_id = null, invoice_level = 'unknown' } = lines[0] ?? {};
      return [id, { voided_at, owner: { partner_id, invoice_level }, costs: new Map(costs) }];
    }),
  );
}
