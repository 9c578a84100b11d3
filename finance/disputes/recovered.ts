/** Divides what carriers credited among the claims of a tracking number: each cent once, and none of it made up. */

import { fromTenThousandths, toTenThousandths } from '../../lib/wire/decimal.ts';
import { type Claim, lineKey } from './claim.ts';

/** Of a claim, what decides whether it can be answered. */
export type Answerable = Pick<Claim, 'id' | 'invoiceId' | 'rowNumber' | 'claimed' | 'creditedBefore'>;

/**
 * What was credited before a claim answers nothing of it. Of what came after, the claims that were open to it are answered
 * one after the other, oldest first, each up to its amount; what is more than all of them goes to the last. A line that is
 * claimed once more is answered by its newer claim from then on.
 *
 * @param claims of one tracking number, oldest first, without those that claim nothing
 * @param credited of that number in all, in ten-thousandths
 * @returns by id; their sum is what was credited beyond the least `creditedBefore`, or zero
 */
export function recoveredOf(claims: readonly Answerable[], credited: bigint): ReadonlyMap<string, string> {
  const open = claims.map((claim) => ({
    ...{ id: claim.id, line: lineKey(claim), left: toTenThousandths(claim.claimed), got: 0n },
    from: toTenThousandths(claim.creditedBefore),
  }));
  const begins = [...new Set(open.map(({ from }) => from))].sort((one, other) => (one < other ? -1 : 1));
  for (const [index, begin] of begins.entries()) {
    const end = lesser(begins[index + 1] ?? credited, credited);
    const asked = open.filter(({ from }) => from <= begin);
    const newest = asked.filter(({ line }, at) => !asked.slice(at + 1).some((later) => later.line === line));
    let rest = end > begin ? end - begin : 0n;
    for (const claim of newest) {
      const given = lesser(rest, claim.left);
      claim.left -= given;
      claim.got += given;
      rest -= given;
    }
    const last = newest.at(-1);
    if (last !== undefined) last.got += rest;
  }
  return new Map(open.map(({ id, got }) => [id, fromTenThousandths(got)]));
}

function lesser(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
