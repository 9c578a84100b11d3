import { createHash } from 'node:crypto';
import { identityOf } from '../../lib/files/files.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { isReportError } from '../../reports/errors.ts';
import type { SessionRequest } from '../../reports/report-session.ts';
import { type AtRisk, findRisks, linesAtRisk } from './at-risk.ts';
import {
  type Claim,
  ClaimError,
  type ClaimState,
  checkNext,
  checkNote,
  claimRefused,
  isUndecided,
  lineKey,
} from './claim.ts';
import { type ClaimWithStatus, withStatuses } from './claim-status.ts';
import {
  type Claimable,
  claimableOf,
  type FindClaimable,
  type FindRequest,
  type Found,
  findLines,
} from './findings.ts';
import { appendChange, type Claims, readClaims } from './journal.ts';
import { NOTHING_PUBLISHED, readPublished } from './published-invoices.ts';
import { deadlineOf, readClaimWindows } from './windows.ts';

export interface DisputesOptions {
  readonly dataDir: string;
  readonly databasePath: string;
  readonly now?: () => Date;
}

export type Disputes = ReturnType<typeof openDisputes>;

const MAX_KEPT = 4;
/** The time limit for all findings of a page together. */
const RISKS_LIMIT_MS = 120_000;

/** Opens no file before it is used; several processes may use it at once. */
export function openDisputes({ dataDir, databasePath, now = () => new Date() }: DisputesOptions) {
  async function withStatus(claims: Claims): Promise<readonly ClaimWithStatus[]> {
    const all = [...claims.all.values()];
    const { windows } = await readClaimWindows(dataDir);
    if (all.length === 0) return [];
    const published = await readPublished(databasePath, all).catch((error: unknown) => {
      // While a data folder is restored, claims are listed with the concern that their invoices are not
      // published.
      if (isReportError(error, 'not-published')) return NOTHING_PUBLISHED;
      throw error;
    });
    return withStatuses(all, { published, windows, now: now() });
  }

  async function claimable({ lines, ...found }: Found) {
    if (lines.length === 0) return { lines: [], ...found };
    const claims = await withStatus(await readClaims(dataDir));
    const published = await readPublished(databasePath, lines);
    return { lines: claimableOf(lines, { claims, published }), ...found };
  }

  /** Findings change only with the published file, claims at any time. They are found to the end though no page waits. */
  const kept = new Map<string, ReturnType<typeof findPublished>>();
  async function keptRisks(filters: FindRequest['filters'], minimum: string) {
    const published = await identityOf(databasePath).catch(() => null);
    const key = JSON.stringify([filters, minimum, await filesGiven(), published]);
    const request = { databasePath, timeLimitMs: RISKS_LIMIT_MS, ...(filters ? { filters } : {}) };
    const found = kept.get(key) ?? findPublished(request, minimum);
    kept.delete(key);
    kept.set(key, found);
    found.catch(() => kept.delete(key));
    for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest);
    return found;
  }

  async function findPublished(request: SessionRequest, minimum: string) {
    const risks = await findRisks(request, minimum);
    const lines = [...risks.values()].flatMap((found) => (typeof found === 'string' ? [] : found.lines));
    const published = lines.length === 0 ? NOTHING_PUBLISHED : await readPublished(databasePath, lines);
    return { risks, published };
  }

  /** A rate that a person gives changes what is found, so the given files are part of the key. */
  async function filesGiven(): Promise<string> {
    const store = await userStore(dataDir);
    const hash = createHash('sha256');
    for (const path of await store.list(USER_FILES.reportFiles))
      hash.update(path).update((await store.read(path)) ?? '');
    return hash.digest('hex');
  }

  const find: FindClaimable = async (request) => claimable(await findLines({ ...request, databasePath }));
  return {
    ...{ find, dataDir },
    /** @param minimum null takes the one of the file of claim windows */
    async atRisk(filters: FindRequest['filters'], minimum: string | null = null): Promise<AtRisk> {
      const { windows, min_amount } = await readClaimWindows(dataDir);
      const { risks, published } = await keptRisks(filters, minimum ?? min_amount);
      const journal = await readClaims(dataDir);
      const claims = [...(await withStatus(journal))].reverse();
      return linesAtRisk(risks, {
        ...{ claims, dismissed: journal.dismissed },
        claimable: (found) => claimableOf(found, { claims, published }),
        deadline: (line) => deadlineOf(line, windows, now()),
      });
    },
    /** Dismisses lines, durably when the promise resolves. @param keys of findings (`findingKey`) */
    async dismiss(
      keys: readonly string[],
      decision: { readonly note: string; readonly by: string; readonly isUndone: boolean },
    ) {
      const { note, by, isUndone } = decision;
      const kind = isUndone ? 'restored' : 'dismissed';
      await appendChange(dataDir, () => ({
        kind,
        at: now().toISOString(),
        by,
        note: checkNote(note),
        lines: keys,
      }));
    },
    /** Lists the claims, the newest first. Problems of the journal are full sentences. */
    async list() {
      const claims = await readClaims(dataDir);
      return { claims: [...(await withStatus(claims))].reverse(), problems: claims.problems };
    },
    open: (lines: readonly Claimable[], decision: { readonly note: string; readonly by: string }) =>
      openClaims(dataDir, lines, { ...decision, at: now().toISOString() }),
    /**
     * Changes all of the claims, or none. @throws ClaimError claim-changed: one has another version; claim-refused: one does not
     * exist or does not allow that state
     */
    async change(request: ClaimChangeRequest): Promise<readonly Claim[]> {
      const { claims: named, state } = request;
      if (state === 'sent' || state === 'open') {
        const voided = (await withStatus(await readClaims(dataDir))).find(
          ({ id, voided_at }) => voided_at !== null && named.some((claim) => claim.id === id),
        );
        if (voided !== undefined)
          throw claimRefused(
            `Claim ${voided.id} cannot become ${state}: its invoice was voided on ${voided.voided_at?.slice(0, 10)}`,
            'close it; nothing is claimed any more',
          );
      }
      return changeClaims(dataDir, request, now().toISOString());
    },
  };
}

/**
 * Claims all of the lines, or none. @throws ClaimError claim-changed: a line was claimed meanwhile; claim-refused: no line can be
 * claimed
 */
export async function openClaims(
  dataDir: string,
  lines: readonly Claimable[],
  { note, by, at }: { readonly note: string; readonly by: string; readonly at: string },
): Promise<readonly Claim[]> {
  const claimable = lines.filter(({ hindrance }) => hindrance === null);
  if (claimable.length === 0) throw claimRefused('There is nothing to be claimed');
  const keys = new Set(claimable.map(lineKey));
  let ids: readonly string[] = [];
  const { all } = await appendChange(dataDir, (claims) => {
    const taken = [...claims.all.values()].find((claim) => isUndecided(claim) && keys.has(lineKey(claim)));
    if (taken !== undefined)
      throw new ClaimError(
        'claim-changed',
        [`${taken.tracking_number} was claimed meanwhile, as ${taken.id}`],
        {
          hint: 'nothing was opened: list again what can be claimed',
        },
      );
    const opened = claimable.map(({ hindrance: _, ...line }, index) => ({
      id: `D-${claims.nextNumber + index}`,
      ...line,
    }));
    ids = opened.map(({ id }) => id);
    return { kind: 'opened', at, by, note: checkNote(note), claims: opened };
  });
  return ids.map((id) => all.get(id) as Claim);
}

export interface ClaimChangeRequest {
  readonly claims: readonly { readonly id: string; readonly version: number | null }[];
  readonly state: ClaimState | null;
  readonly note: string;
  readonly by: string;
}

async function changeClaims(
  dataDir: string,
  { claims: named, state, note, by }: ClaimChangeRequest,
  at: string,
): Promise<readonly Claim[]> {
  if (named.length === 0) throw claimRefused('No claim is named');
  const { all } = await appendChange(dataDir, (before) => {
    const claims = named.map(({ id, version }) => {
      const claim = before.all.get(id);
      if (claim === undefined) throw claimRefused(`There is no claim ${id}`);
      if (version !== null && version !== claim.version) throw changedMeanwhile(claim);
      if (state !== null) checkNext(claim, state);
      if (state !== null && isUndecided({ state })) refuseSecondClaim(claim, before);
      return { id, version: claim.version + 1 };
    });
    if (state === null && note.trim() === '') throw claimRefused('The note is empty');
    return { kind: 'changed', at, by, note: checkNote(note), state, claims };
  });
  return named.map(({ id }) => all.get(id) as Claim);
}

function refuseSecondClaim(claim: Claim, { all }: Claims): void {
  const other = [...all.values()].find(
    (each) => each.id !== claim.id && isUndecided(each) && lineKey(each) === lineKey(claim),
  );
  if (other === undefined) return;
  throw claimRefused(`The line of ${claim.id} is claimed already, as ${other.id}`);
}

function changedMeanwhile({ id, version, state, history }: Claim): ClaimError {
  const last = history.at(-1);
  const message = `Claim ${id} has changed: ${last?.by} made it version ${version} (${state}) at ${last?.at}`;
  return new ClaimError('claim-changed', [message], {
    hint: 'nothing was changed: read the claim again, then decide',
  });
}
