/** Opens claims: each has a number that no other has, and no line is claimed twice, whoever opens at the same time. */

import { type Claim, ClaimChangedError, ClaimRefusedError, isAlive, lineKey, noteOf } from './claim.ts';
import type { Claimable } from './claimable.ts';
import type { ClaimJournal } from './journal.ts';

/** More at once than people ever do. */
const MOST_TRIES = 100;

/** All of them or none. @throws ClaimChangedError, ClaimRefusedError as `Disputes.open` */
export async function openClaims(
  journal: ClaimJournal,
  lines: readonly Claimable[],
  { note, by, now }: { readonly note: string; readonly by: string; readonly now: () => Date },
): Promise<readonly Claim[]> {
  const wanted = lines.filter(({ hindrance }) => hindrance === null);
  if (wanted.length === 0) throw new ClaimRefusedError('There is nothing to be claimed');
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const { nextNumber } = await journal.read();
    const claims = wanted.map(({ hindrance: _, ...line }, index) => ({
      id: `D-${nextNumber + index}`,
      ...line,
    }));
    const change = { kind: 'opened', at: now().toISOString(), by, note: noteOf(note), claims } as const;
    const written = await journal.append(change);
    const after = await journal.read();
    if (after.counts(written)) return claims.map(({ id }) => after.all.get(id) as Claim);
    const keys = new Set(wanted.map(lineKey));
    const taken = [...after.all.values()].find((claim) => isAlive(claim) && keys.has(lineKey(claim)));
    if (taken !== undefined)
      throw new ClaimChangedError(`${taken.trackingNumber} was claimed meanwhile, as ${taken.id}`, {
        hint: 'nothing was opened: look again at what can be claimed',
      });
    // Only the numbers were taken by another who opened at the same time.
  }
  throw new ClaimChangedError('Others open claims without a pause; nothing was opened', {
    hint: 'try again',
  });
}
