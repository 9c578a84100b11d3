/** What becomes of claims by what is published: whether their invoices still stand, and what was credited since. */

import { compareDecimals, sumOfAmounts, toTenThousandths } from '../contract/decimal.js';
import { groupBy } from '../reports/group-by.js';
import { openPublishedFile, type PublishedFile } from '../reports/published-file.js';
import { readColumns, readRows } from '../reports/read-rows.js';
import type { ReportRow } from '../reports/report-result.js';
import { statementText } from '../reports/statement-text.js';
import { type Claim, isWithdrawn, type NumberOf, numberKey } from './claim.js';
import { recoveredOf } from './recovered.js';
import { NOTHING } from './totals.js';
import { type ClaimWindow, type Deadline, deadlineOf } from './windows.js';

/** A credit of a tracking number. */
export interface Credit {
  /** Decimal text, positive. */
  readonly amount: string;
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly rowNumber: number;
  readonly invoiceDate: string | null;
}

export interface StandingClaim extends Claim {
  /** ISO 8601 UTC; null: its invoice is not voided. */
  readonly voidedAt: string | null;
  /** What is claimed now: zero when the invoice was voided, or the claim was closed before it was sent. */
  readonly outstanding: string;
  /** Decimal text: its part of the credits that came since it was opened. */
  readonly recovered: string;
  /** All credits of its number, those before the claim too. */
  readonly credits: readonly Credit[];
  /** null: nobody said how long the carrier takes claims. */
  readonly deadline: Deadline | null;
  /** Not sent, and the carrier takes it no more. */
  readonly isOverdue: boolean;
  /** Sentences on what a person should know; empty when all is as it was. */
  readonly concerns: readonly string[];
}

/** What is published about tracking numbers and invoices. */
export interface Published {
  creditsOf(line: NumberOf): readonly Credit[];
  /** Of the number in all, decimal text, positive. */
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
 * @throws NotPublishedError there is no published file yet
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
      groupBy(await ask(file, 'amounts', { numbers }), (row) => numberKey(numberIn(row))).map(
        ([key, rows]) => [
          key,
          {
            credits: rows.filter(({ is_credit }) => is_credit === true).map(creditIn),
            charges: rows.filter(({ is_credit }) => is_credit === false).length,
          },
        ],
      ),
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

/** @param claims all there are: credits are divided among those of one number */
export function standingOf(
  claims: readonly Claim[],
  {
    published,
    windows,
    now,
  }: { readonly published: Published; readonly windows: readonly ClaimWindow[]; readonly now: Date },
): readonly StandingClaim[] {
  const voidedAt = (claim: Claim): string | null => published.invoiceOf(claim.invoiceId)?.voidedAt ?? null;
  const claimsNothing = (claim: Claim): boolean => voidedAt(claim) !== null || isWithdrawn(claim);
  const recovered = new Map<string, string>();
  for (const [, ofNumber] of groupBy(claims, numberKey)) {
    const credited = toTenThousandths(published.creditedOf(ofNumber[0] as Claim));
    const asked = ofNumber.filter((claim) => !claimsNothing(claim));
    for (const [id, amount] of recoveredOf(asked, credited)) recovered.set(id, amount);
  }
  return claims.map((claim) => {
    const deadline = deadlineOf(claim, windows, now);
    const got = recovered.get(claim.id) ?? NOTHING;
    const standing = {
      ...claim,
      ...{ voidedAt: voidedAt(claim), recovered: got, credits: published.creditsOf(claim), deadline },
      outstanding: claimsNothing(claim) ? NOTHING : claim.claimed,
      isOverdue: claim.state === 'open' && deadline !== null && deadline.daysLeft < 0,
    };
    return { ...standing, concerns: concernsOf(standing, published) };
  });
}

function concernsOf(claim: Omit<StandingClaim, 'concerns'>, published: Published): readonly string[] {
  const { voidedAt, recovered, claimed, state, isOverdue, deadline } = claim;
  const invoice = published.invoiceOf(claim.invoiceId);
  const concerns: string[] = [];
  if (invoice === null) concerns.push('Its invoice is not in what is published now.');
  else if (voidedAt !== null)
    concerns.push(
      `Its invoice was voided on ${voidedAt.slice(0, 10)}: nothing is claimed any more. Close it.`,
    );
  else if (
    !(invoice.costs.get(numberKey(claim)) ?? []).some((cost) => compareDecimals(cost, claim.billed) === 0)
  )
    concerns.push(
      `Its invoice no longer has a line of ${claim.billed} for this number: look whether it is still to be claimed.`,
    );
  else if (claim.finding === 'duplicates' && published.chargesOf(claim) === 1)
    concerns.push(
      'It is the only charge of its number that counts now: look whether it is still to be claimed.',
    );
  if (isOverdue && voidedAt === null)
    concerns.push(`The carrier took claims of it until ${deadline?.closesOn}: it is overdue.`);
  const comparison = compareDecimals(recovered, claimed);
  if (comparison > 0) concerns.push('More was credited than is claimed.');
  if (comparison >= 0 && (state === 'sent' || state === 'open')) concerns.push('It is credited in full.');
  return concerns;
}

function invoicesIn(rows: readonly ReportRow[]): ReadonlyMap<string, PublishedInvoice> {
  return new Map(
    groupBy(rows, ({ invoice_id }) => String(invoice_id)).map(([id, lines]) => {
      const billed = lines.filter(({ tracking_number }) => tracking_number !== null);
      const costs = groupBy(billed, (row) => numberKey(numberIn(row)));
      const voidedAt = lines[0]?.voided_at ?? null;
      const invoice = {
        state: String(lines[0]?.state),
        voidedAt: voidedAt === null ? null : String(voidedAt),
        costs: new Map(costs.map(([key, of]) => [key, of.map(({ billing_cost }) => String(billing_cost))])),
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
  const sql = await statementText(new URL(`./sql/${name}.sql`, import.meta.url));
  const reader = await file.query(sql, values);
  return readRows(reader, readColumns(reader, { units: {}, details: [] }));
}
