/** Finds what can be claimed, and opens, changes and lists claims. Other folders import this file. */

import { stat } from 'node:fs/promises';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { isReportError } from '../../reports/errors.ts';
import { type AtRisk, linesAtRisk } from './at-risk.ts';
import {
  type Claim,
  ClaimChangedError,
  ClaimRefusedError,
  type ClaimState,
  checkNext,
  checkNote,
  isAlive,
  lineKey,
} from './claim.ts';
import { type ClaimWithStatus, withStatuses } from './claim-status.ts';
import { type Claimable, claimableOf, type FindRequest, type Found, findLines } from './findings.ts';
import { type ClaimJournal, type Claims, openClaimJournal } from './journal.ts';
import { NOTHING_PUBLISHED, readPublished } from './published.ts';
import { readClaimWindows } from './windows.ts';

export interface DisputesOptions {
  readonly dataDir: string;
  /** `reports.duckdb`. */
  readonly databasePath: string;
  readonly now?: () => Date;
}

export interface Disputes {
  /** All claims with their status, newest first, and problems of the journal as sentences. */
  list(): Promise<{ readonly claims: readonly ClaimWithStatus[]; readonly problems: readonly string[] }>;
  /** The lines behind rows of a report, including claimed ones, and notes as sentences. */
  find(
    request: Omit<FindRequest, 'databasePath'>,
  ): Promise<{ readonly lines: readonly Claimable[]; readonly notes: readonly string[] }>;
  /** The total of all findings within the filters, each line once. */
  atRisk(filters: FindRequest['filters']): Promise<AtRisk>;
  /**
   * All of them or none.
   *
   * @throws ClaimChangedError one of the lines was claimed meanwhile
   * @throws ClaimRefusedError no line can be claimed
   */
  open(
    lines: readonly Claimable[],
    decision: { readonly note: string; readonly by: string },
  ): Promise<readonly Claim[]>;
  /**
   * All of them or none.
   *
   * @throws ClaimChangedError one has another version
   * @throws ClaimRefusedError one does not exist or does not allow that state
   */
  change(changes: ClaimChangeRequest): Promise<readonly Claim[]>;
}

export function disputePaths(dataDir: string): { readonly folder: string; readonly windowsPath: string } {
  const { disputes, claimWindows } = dataFolder(dataDir);
  return { folder: disputes, windowsPath: claimWindows };
}

/** The findings of all kinds in two periods. */
const MAX_KEPT = 12;

/** Opens no file before it is used; several processes may use it at once. */
export function openDisputes({ dataDir, databasePath, now = () => new Date() }: DisputesOptions): Disputes {
  const { folder, windowsPath } = disputePaths(dataDir);
  const journal = openClaimJournal(folder);

  async function standing(claims: Claims): Promise<readonly ClaimWithStatus[]> {
    const all = [...claims.all.values()];
    const { windows } = await readClaimWindows(windowsPath);
    if (all.length === 0) return [];
    const published = await readPublished(databasePath, all).catch((error: unknown) => {
      // Claims are shown while a data folder is restored; each says that its invoice is not published.
      if (isReportError(error, 'not-published')) return NOTHING_PUBLISHED;
      throw error;
    });
    return withStatuses(all, { published, windows, now: now() });
  }

  async function claimable({ lines, notes }: Found) {
    if (lines.length === 0) return { lines: [], notes };
    const claims = await standing(await journal.read());
    const published = await readPublished(databasePath, lines);
    return { lines: claimableOf(lines, { claims, published }), notes };
  }

  /** Findings change only with the published file, claims at any time; so the findings are kept. */
  const kept = new Map<string, Promise<Found>>();
  async function keptFindings(request: Omit<FindRequest, 'databasePath'>): Promise<Found> {
    const { mtimeMs, ino } = await stat(databasePath).catch(() => ({ mtimeMs: 0, ino: 0 }));
    const key = JSON.stringify([request, mtimeMs, ino]);
    const found = kept.get(key) ?? findLines({ ...request, databasePath });
    kept.delete(key);
    kept.set(key, found);
    found.catch(() => kept.delete(key));
    for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest);
    return found;
  }

  return {
    find: async (request) => claimable(await findLines({ ...request, databasePath })),
    async atRisk(filters) {
      const { windows } = await readClaimWindows(windowsPath);
      const claims = [...(await standing(await journal.read()))].reverse();
      return linesAtRisk(async (request) => claimable(await keptFindings(request)), filters, {
        claims,
        windows,
        now: now(),
      });
    },
    async list() {
      const claims = await journal.read();
      return { claims: [...(await standing(claims))].reverse(), problems: claims.problems };
    },
    open: (lines, decision) => openClaims(journal, lines, { ...decision, now }),
    change: (changes) => changeClaims(journal, changes, { standing, now }),
  };
}

/** More than people open at the same time. */
const MAX_TRIES = 100;

/** All of them or none. @throws ClaimChangedError, ClaimRefusedError as `Disputes.open` */
export async function openClaims(
  journal: ClaimJournal,
  lines: readonly Claimable[],
  { note, by, now }: { readonly note: string; readonly by: string; readonly now: () => Date },
): Promise<readonly Claim[]> {
  const claimable = lines.filter(({ hindrance }) => hindrance === null);
  if (claimable.length === 0) throw new ClaimRefusedError('There is nothing to be claimed');
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const { nextNumber } = await journal.read();
    const claims = claimable.map(({ hindrance: _, ...line }, index) => ({
      id: `D-${nextNumber + index}`,
      ...line,
    }));
    const change = { kind: 'opened', at: now().toISOString(), by, note: checkNote(note), claims } as const;
    const written = await journal.append(change);
    const after = await journal.read();
    if (after.counts(written)) return claims.map(({ id }) => after.all.get(id) as Claim);
    const keys = new Set(claimable.map(lineKey));
    const taken = [...after.all.values()].find((claim) => isAlive(claim) && keys.has(lineKey(claim)));
    if (taken !== undefined)
      throw new ClaimChangedError(`${taken.trackingNumber} was claimed meanwhile, as ${taken.id}`, {
        hint: 'nothing was opened: look again at what can be claimed',
      });
    // Only the claim numbers were taken by another process.
  }
  throw new ClaimChangedError('Others open claims without a pause; nothing was opened', {
    hint: 'try again',
  });
}

export interface ClaimChangeRequest {
  /** With the expected version; null: any. */
  readonly claims: readonly { readonly id: string; readonly version: number | null }[];
  /** null: stays. */
  readonly state: ClaimState | null;
  readonly note: string;
  readonly by: string;
}

/** All of them or none. @throws ClaimChangedError, ClaimRefusedError as `Disputes.change` */
export async function changeClaims(
  journal: ClaimJournal,
  { claims: changes, state, note, by }: ClaimChangeRequest,
  world: {
    readonly standing: (claims: Claims) => Promise<readonly ClaimWithStatus[]>;
    readonly now: () => Date;
  },
): Promise<readonly Claim[]> {
  const before = await journal.read();
  const found = changes.map(({ id, version }) => {
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
    ...{ kind: 'changed', at: world.now().toISOString(), by, note: checkNote(note), state },
    claims: found.map(({ id, version }) => ({ id, version: version + 1 })),
  });
  const after = await journal.read();
  if (after.counts(written)) return found.map(({ id }) => after.all.get(id) as Claim);
  const other = found.find(({ id, version }) => after.all.get(id)?.version !== version);
  throw changedMeanwhile(after.all.get((other ?? found[0])?.id ?? '') as Claim);
}

function refuseVoided(all: readonly ClaimWithStatus[], found: readonly Claim[], state: ClaimState): void {
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
