/** What people do with claims: find what can be claimed, open, change, list and export; other folders import this file. */

import { join } from 'node:path';
import { addDecimals, fromTenThousandths, toTenThousandths } from '../contract/decimal.js';
import { NotPublishedError } from '../reports/errors.js';
import { groupBy } from '../reports/group-by.js';
import {
  type Claim,
  ClaimChangedError,
  ClaimRefusedError,
  type ClaimState,
  checkNext,
  isAlive,
  lineKey,
  numberKey,
} from './claim.js';
import { type FindRequest, type FoundLine, findLines } from './findings.js';
import { type Claims, openClaimJournal } from './journal.js';
import { NOTHING_PUBLISHED, readPublished, type StandingClaim, standingOf } from './standing.js';
import { NOTHING } from './totals.js';
import { readClaimWindows } from './windows.js';

export interface DisputesOptions {
  readonly dataDir: string;
  /** `reports.duckdb`. */
  readonly databasePath: string;
  readonly now?: () => Date;
}

/** A line that was found, and whether it can be claimed now. */
export interface Claimable extends FoundLine {
  readonly creditedBefore: string;
  /** Why not, in words; null: it can. */
  readonly hindrance: string | null;
}

export interface ClaimChangeAsked {
  /** With the version that the person saw; null: whatever it is now. */
  readonly claims: readonly { readonly id: string; readonly version: number | null }[];
  /** null: stays. */
  readonly state: ClaimState | null;
  readonly note: string;
  readonly by: string;
}

export interface Disputes {
  /** Every claim, newest first, as it stands by what is published; and what is wrong with the journal, in sentences. */
  list(): Promise<{ readonly claims: readonly StandingClaim[]; readonly problems: readonly string[] }>;
  /** The lines behind rows of a report, claimed already or not; and what has to be known to trust them, in sentences. */
  find(
    request: Omit<FindRequest, 'databasePath'>,
  ): Promise<{ readonly lines: readonly Claimable[]; readonly notes: readonly string[] }>;
  /**
   * All of them or none.
   *
   * @throws ClaimChangedError one of the lines was claimed meanwhile
   * @throws ClaimRefusedError there is none to be claimed
   */
  open(
    lines: readonly Claimable[],
    said: { readonly note: string; readonly by: string },
  ): Promise<readonly Claim[]>;
  /**
   * All of them or none.
   *
   * @throws ClaimChangedError one is not what the person saw
   * @throws ClaimRefusedError one does not take that state, or is not there
   */
  change(asked: ClaimChangeAsked): Promise<readonly Claim[]>;
}

/** Beside the archive, never in it. */
export function disputePaths(dataDir: string): { readonly folder: string; readonly windowsPath: string } {
  return { folder: join(dataDir, 'disputes'), windowsPath: join(dataDir, 'claim-windows.yaml') };
}

const LONGEST_NOTE = 2_000;
/** More at once than people ever do. */
const MOST_TRIES = 100;

/** Opens nothing until it is asked; any number of processes may have them at once. */
export function openDisputes({ dataDir, databasePath, now = () => new Date() }: DisputesOptions): Disputes {
  const { folder, windowsPath } = disputePaths(dataDir);
  const journal = openClaimJournal(folder);

  async function standing(claims: Claims): Promise<readonly StandingClaim[]> {
    const all = [...claims.all.values()];
    const { windows } = await readClaimWindows(windowsPath);
    if (all.length === 0) return [];
    const published = await readPublished(databasePath, all).catch((error: unknown) => {
      // Claims are shown while a data folder is restored; each says that its invoice is not published.
      if (error instanceof NotPublishedError) return NOTHING_PUBLISHED;
      throw error;
    });
    return standingOf(all, { published, windows, now: now() });
  }

  async function claimable(lines: readonly FoundLine[]): Promise<readonly Claimable[]> {
    if (lines.length === 0) return [];
    const claims = await standing(await journal.read());
    const byLine = new Map(groupBy(claims, lineKey));
    const byNumber = new Map(groupBy(claims, numberKey));
    const published = await readPublished(databasePath, lines);
    const free = new Map<string, bigint>();
    return lines.map((line) => {
      const key = numberKey(line);
      const creditedBefore = published.creditedOf(line);
      const ofLine = byLine.get(lineKey(line)) ?? [];
      const other = ofLine.find(isAlive);
      if (other !== undefined)
        return { ...line, creditedBefore, hindrance: `it is claimed already, as ${other.id}` };
      // Duplicates are found less their credits; elsewhere what was credited, and answers no other claim, is taken off.
      const recovered = (byNumber.get(key) ?? []).map((claim) => claim.recovered);
      const unassigned = toTenThousandths(creditedBefore) - toTenThousandths(addDecimals(...recovered));
      const before = line.finding === 'duplicates' ? 0n : (free.get(key) ?? greater(unassigned, 0n));
      const sameLine = toTenThousandths(addDecimals(...ofLine.map((claim) => claim.recovered)));
      const found = toTenThousandths(line.claimed) - (line.finding === 'duplicates' ? 0n : sameLine);
      const off = before < found ? before : greater(found, 0n);
      free.set(key, before - off);
      const claimed = fromTenThousandths(greater(found - off, 0n));
      return {
        ...line,
        ...{ claimed, creditedBefore },
        hindrance: claimed === NOTHING ? 'it was credited already' : null,
      };
    });
  }

  return {
    async list() {
      const claims = await journal.read();
      return { claims: [...(await standing(claims))].reverse(), problems: claims.problems };
    },
    async find(request) {
      const { lines, notes } = await findLines({ ...request, databasePath });
      return { lines: await claimable(lines), notes };
    },
    async open(lines, { note, by }) {
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
    },
    async change({ claims: asked, state, note, by }) {
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
      if (state === 'sent' || state === 'open') refuseVoided(await standing(before), found, state);
      const written = await journal.append({
        ...{ kind: 'changed', at: now().toISOString(), by, note: noteOf(note), state },
        claims: found.map(({ id, version }) => ({ id, version: version + 1 })),
      });
      const after = await journal.read();
      if (after.counts(written)) return found.map(({ id }) => after.all.get(id) as Claim);
      const other = found.find(({ id, version }) => after.all.get(id)?.version !== version);
      throw changedMeanwhile(after.all.get((other ?? found[0])?.id ?? '') as Claim);
    },
  };
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

/** @throws ClaimRefusedError */
function noteOf(note: string): string {
  const kept = note.trim().normalize('NFC');
  if (kept.length <= LONGEST_NOTE) return kept;
  throw new ClaimRefusedError(`The note has ${kept.length} characters; it may have ${LONGEST_NOTE}`);
}

function greater(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
