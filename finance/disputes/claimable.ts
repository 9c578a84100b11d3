/** Which of the lines that a report found can be claimed now, and what of each. */

import { addDecimals, fromTenThousandths, toTenThousandths } from '../../lib/wire/decimal.ts';
import { isAlive, lineKey, numberKey } from './claim.ts';
import type { FoundLine } from './findings.ts';
import type { Published } from './published.ts';
import type { StandingClaim } from './standing.ts';
import { NOTHING } from './totals.ts';

/** A line that was found, and whether it can be claimed now. */
export interface Claimable extends FoundLine {
  readonly creditedBefore: string;
  /** Why not, in words; null: it can. */
  readonly hindrance: string | null;
}

/** @param claims all there are */
export function claimableOf(
  lines: readonly FoundLine[],
  { claims, published }: { readonly claims: readonly StandingClaim[]; readonly published: Published },
): readonly Claimable[] {
  const byLine = Map.groupBy(claims, lineKey);
  const byNumber = Map.groupBy(claims, numberKey);
  /** What was credited of a number and answers no claim, as far as no line before has taken it off. */
  const unassigned = new Map<string, bigint>();

  /** Duplicates are found less their credits; elsewhere what was credited, and answers no other claim, is taken off. */
  function claimedOf(line: FoundLine, ofLine: readonly StandingClaim[]): string {
    if (line.finding === 'duplicates') return fromTenThousandths(greater(toTenThousandths(line.claimed), 0n));
    const key = numberKey(line);
    const recovered = recoveredOf(byNumber.get(key) ?? []);
    const left = unassigned.get(key) ?? greater(toTenThousandths(published.creditedOf(line)) - recovered, 0n);
    const found = toTenThousandths(line.claimed) - recoveredOf(ofLine);
    const off = left < found ? left : greater(found, 0n);
    unassigned.set(key, left - off);
    return fromTenThousandths(greater(found - off, 0n));
  }

  return lines.map((line) => {
    const creditedBefore = published.creditedOf(line);
    const ofLine = byLine.get(lineKey(line)) ?? [];
    const other = ofLine.find(isAlive);
    if (other !== undefined)
      return { ...line, creditedBefore, hindrance: `it is claimed already, as ${other.id}` };
    const claimed = claimedOf(line, ofLine);
    return {
      ...{ ...line, claimed, creditedBefore },
      hindrance: claimed === NOTHING ? 'it was credited already' : null,
    };
  });
}

/** In ten-thousandths. */
function recoveredOf(claims: readonly StandingClaim[]): bigint {
  return toTenThousandths(addDecimals(...claims.map(({ recovered }) => recovered)));
}

function greater(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
