/** Moves claims from one state to the next, unless somebody else changed one meanwhile. */

import {
  type Claim,
  ClaimChangedError,
  ClaimRefusedError,
  type ClaimState,
  checkNext,
  noteOf,
} from './claim.ts';
import type { ClaimJournal, Claims } from './journal.ts';
import type { StandingClaim } from './standing.ts';

export interface ClaimChangeAsked {
  /** With the version that the person saw; null: whatever it is now. */
  readonly claims: readonly { readonly id: string; readonly version: number | null }[];
  /** null: stays. */
  readonly state: ClaimState | null;
  readonly note: string;
  readonly by: string;
}

/** All of them or none. @throws ClaimChangedError, ClaimRefusedError as `Disputes.change` */
export async function changeClaims(
  journal: ClaimJournal,
  { claims: asked, state, note, by }: ClaimChangeAsked,
  world: {
    readonly standing: (claims: Claims) => Promise<readonly StandingClaim[]>;
    readonly now: () => Date;
  },
): Promise<readonly Claim[]> {
  const before = await journal.read();
  const found = asked.map(({ id, version }) => {
    const claim = before.all.get(id);
    if (claim === undefined) throw new ClaimRefusedError(`There is no claim ${id}`);
    if (version !== null && version !== claim.version) throw changedMeanwhile(claim);
    if (state !== null) checkNext(claim, state);
    return claim;
  });
  if (found.length === 0) throw new ClaimRefusedError('No claim is named');
  if (state === null && note.trim() === '') throw new ClaimRefusedError('The note is empty');
  if (state === 'sent' || state === 'open') refuseVoided(await world.standing(before), found, state);
  const written = await journal.append({
    ...{ kind: 'changed', at: world.now().toISOString(), by, note: noteOf(note), state },
    claims: found.map(({ id, version }) => ({ id, version: version + 1 })),
  });
  const after = await journal.read();
  if (after.counts(written)) return found.map(({ id }) => after.all.get(id) as Claim);
  const other = found.find(({ id, version }) => after.all.get(id)?.version !== version);
  throw changedMeanwhile(after.all.get((other ?? found[0])?.id ?? '') as Claim);
}

function refuseVoided(all: readonly StandingClaim[], found: readonly Claim[], state: ClaimState): void {
  const voided = all.find(({ id, voidedAt }) => voidedAt !== null && found.some((claim) => claim.id === id));
  if (voided === undefined) return;
  throw new ClaimRefusedError(
    `Claim ${voided.id} cannot become ${state}: its invoice was voided on ${voided.voidedAt?.slice(0, 10)}`,
    { hint: 'close it; nothing is claimed of it any more' },
  );
}

function changedMeanwhile({ id, version, state, history }: Claim): ClaimChangedError {
  const last = history.at(-1);
  return new ClaimChangedError(
    `Claim ${id} has changed: ${last?.by} made it version ${version} (${state}) at ${last?.at}`,
    { hint: 'nothing was changed now: look at it again, then decide' },
  );
}
