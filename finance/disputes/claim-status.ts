import { compareDecimals, fromTenThousandths, sumOfAmounts, toTenThousandths } from '../../lib/decimal.ts';
import { type Claim, isWithdrawn, NEXT_STATES, NOTHING, numberKey, placeKey } from './claim.ts';
import type { Credit, Published } from './published-invoices.ts';
import { type ClaimWindow, type Deadline, deadlineOf } from './windows.ts';

export interface ClaimWithStatus extends Claim, Deadline {
  /** The instant since which the line's invoice is void, in ISO 8601 UTC; null when it is not. */
  readonly voided_at: string | null;
  /** The amount that is still to come; zero when the invoice was voided, or the claim was closed before it was sent. */
  readonly outstanding: string;
  /** The claim's part of the credits that were billed since it was opened. */
  readonly recovered: string;
  readonly credits: readonly Credit[];
  readonly is_overdue: boolean;
  readonly concerns: readonly string[];
}

export function claimJson({ history, credits: _, ...claim }: ClaimWithStatus) {
  const opened = { opened_at: history[0]?.at ?? null, opened_by: history[0]?.by ?? null };
  return { ...claim, next_states: NEXT_STATES[claim.state], ...opened };
}

/** @param recorded all claims, since credits are divided among those of one tracking number */
export function withStatuses(
  recorded: readonly Claim[],
  {
    published,
    windows,
    now,
  }: { readonly published: Published; readonly windows: readonly ClaimWindow[]; readonly now: Date },
): readonly ClaimWithStatus[] {
  // Partner and level of an invoice may have been unknown when its line was claimed.
  const claims = recorded.map((claim) => ({ ...claim, ...published.invoiceOf(claim.invoice_id)?.owner }));
  const voidedAt = (claim: Claim): string | null => published.invoiceOf(claim.invoice_id)?.voided_at ?? null;
  const claimsNothing = (claim: Claim): boolean => voidedAt(claim) !== null || isWithdrawn(claim);
  const recovered = new Map<string, string>();
  for (const ofNumber of Map.groupBy(claims, numberKey).values()) {
    const credited = toTenThousandths(published.creditedOf(ofNumber[0] as Claim));
    const eligible = ofNumber.filter((claim) => !claimsNothing(claim));
    for (const [id, amount] of recoveredOf(eligible, credited)) recovered.set(id, amount);
  }
  return claims.map((claim) => {
    const deadline = deadlineOf(claim, windows, now);
    const status = {
      ...{ ...claim, ...deadline },
      voided_at: voidedAt(claim),
      outstanding: claimsNothing(claim) ? NOTHING : claim.claimed,
      recovered: recovered.get(claim.id) ?? NOTHING,
      credits: published.creditsOf(claim),
      is_overdue: claim.state === 'open' && (deadline.days_left ?? 0) < 0,
    };
    return { ...status, concerns: concernsOf(status, published) };
  });
}

function concernsOf(claim: Omit<ClaimWithStatus, 'concerns'>, published: Published): readonly string[] {
  const { voided_at, recovered, claimed, state } = claim;
  const invoice = published.invoiceOf(claim.invoice_id);
  const costs = invoice?.costs.get(numberKey(claim)) ?? [];
  const concerns: string[] = [];
  if (invoice === null) concerns.push('Its invoice is not published now.');
  else if (voided_at !== null)
    concerns.push(
      `Its invoice was voided on ${voided_at.slice(0, 10)}: nothing is claimed any more. Close it.`,
    );
  else if (!costs.some((cost) => compareDecimals(cost, claim.billed) === 0))
    concerns.push(
      `Its invoice no longer has a line of ${claim.billed} for this number: check whether the claim is still valid.`,
    );
  else if (claim.finding === 'duplicates' && published.chargesOf(claim) === 1)
    concerns.push(
      'It is the only charge of its number that counts now: check whether the claim is still valid.',
    );
  if (claim.is_overdue && voided_at === null)
    concerns.push(`The carrier accepted claims for it until ${claim.closes_on}: it is overdue.`);
  const comparison = compareDecimals(recovered, claimed);
  if (comparison > 0) concerns.push('More was credited than is claimed.');
  if (comparison >= 0 && (state === 'sent' || state === 'open')) concerns.push('It is credited in full.');
  return concerns;
}

export type Answerable = Pick<Claim, 'id' | 'invoice_id' | 'row_number' | 'claimed' | 'credited_before'>;

/**
 * Divides credits among the claims of one tracking number (oldest first). Credits before a claim do not count
 * for it; later ones go to the open claims, oldest first, each up to its amount, the excess to the last. Of
 * claims of the same line only the newest receives them. `credited` is the number's total in ten-thousandths.
 */
export function recoveredOf(claims: readonly Answerable[], credited: bigint): ReadonlyMap<string, string> {
  const open = claims.map((claim) => ({
    ...{ id: claim.id, line: placeKey(claim), left: toTenThousandths(claim.claimed), got: 0n },
    from: toTenThousandths(claim.credited_before),
  }));
  const begins = [...new Set(open.map(({ from }) => from))].sort((one, other) => (one < other ? -1 : 1));
  for (const [index, begin] of begins.entries()) {
    const end = lesserOf(begins[index + 1] ?? credited, credited);
    const eligible = open.filter(({ from }) => from <= begin);
    const newest = eligible.filter(
      ({ line }, at) => !eligible.slice(at + 1).some((later) => later.line === line),
    );
    let rest = end > begin ? end - begin : 0n;
    for (const claim of newest) {
      const given = lesserOf(rest, claim.left);
      claim.left -= given;
      claim.got += given;
      rest -= given;
    }
    const last = newest.at(-1);
    if (last !== undefined) last.got += rest;
  }
  return new Map(open.map(({ id, got }) => [id, fromTenThousandths(got)]));
}

function lesserOf(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

type Summed = Pick<ClaimWithStatus, 'partner_id' | 'currency_code' | 'outstanding' | 'recovered'>;

export interface ClaimTotals {
  readonly partner_id: string | null;
  readonly currency_code: string;
  readonly claims: number;
  readonly claimed: string;
  readonly recovered: string;
}

export function totalsOf(claims: readonly Summed[]): readonly ClaimTotals[] {
  const groups = Map.groupBy(claims, ({ partner_id, currency_code }) =>
    JSON.stringify([partner_id, currency_code]),
  );
  return Array.from(groups.values(), (group) => ({
    partner_id: group[0]?.partner_id ?? null,
    currency_code: group[0]?.currency_code ?? '',
    claims: group.length,
    claimed: sumOfAmounts(group.map(({ outstanding }) => outstanding)),
    recovered: sumOfAmounts(group.map(({ recovered }) => recovered)),
  }));
}
