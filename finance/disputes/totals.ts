/** Sums of claims, exact, by currency; partners are never added up. */

import { sumOfAmounts } from '../../lib/wire/decimal.ts';
import type { StandingClaim } from './standing.ts';

export const NOTHING = '0.0000';

type Summed = Pick<StandingClaim, 'partnerId' | 'currencyCode' | 'outstanding' | 'recovered'>;

/** Sums by currency, of each partner by itself. */
export interface ClaimTotals {
  readonly partnerId: string | null;
  readonly currencyCode: string;
  readonly claims: number;
  readonly claimed: string;
  readonly recovered: string;
}

/** In the order in which partners and currencies come up; `claimed` is what is claimed now. */
export function totalsOf(claims: readonly Summed[]): readonly ClaimTotals[] {
  const groups = Map.groupBy(claims, ({ partnerId, currencyCode }) =>
    JSON.stringify([partnerId, currencyCode]),
  );
  return Array.from(groups.values(), (group) => ({
    partnerId: group[0]?.partnerId ?? null,
    currencyCode: group[0]?.currencyCode ?? '',
    claims: group.length,
    claimed: sumOfAmounts(group.map(({ outstanding }) => outstanding)),
    recovered: sumOfAmounts(group.map(({ recovered }) => recovered)),
  }));
}
