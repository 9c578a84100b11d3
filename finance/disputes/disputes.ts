/** What people do with claims: find what can be claimed, open, change, list and export; other folders import this file. */

import { dataFolder } from '../../lib/files/data-folder.ts';
import { NotPublishedError } from '../../reports/errors.ts';
import { type AtRisk, linesAtRisk } from './at-risk.ts';
import { type ClaimChangeAsked, changeClaims } from './change-claims.ts';
import type { Claim } from './claim.ts';
import { type Claimable, claimableOf } from './claimable.ts';
import { type FindRequest, findLines } from './findings.ts';
import { type Claims, openClaimJournal } from './journal.ts';
import { openClaims } from './open-claims.ts';
import { NOTHING_PUBLISHED, readPublished } from './published.ts';
import { type StandingClaim, standingOf } from './standing.ts';
import { readClaimWindows } from './windows.ts';

export interface DisputesOptions {
  readonly dataDir: string;
  /** `reports.duckdb`. */
  readonly databasePath: string;
  readonly now?: () => Date;
}

export interface Disputes {
  /** Every claim, newest first, as it stands by what is published; and what is wrong with the journal, in sentences. */
  list(): Promise<{ readonly claims: readonly StandingClaim[]; readonly problems: readonly string[] }>;
  /** The lines behind rows of a report, claimed already or not; and what has to be known to trust them, in sentences. */
  find(
    request: Omit<FindRequest, 'databasePath'>,
  ): Promise<{ readonly lines: readonly Claimable[]; readonly notes: readonly string[] }>;
  /** What all findings within the filters are worth, each line once. */
  atRisk(filters: FindRequest['filters']): Promise<AtRisk>;
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
  const { disputes, claimWindows } = dataFolder(dataDir);
  return { folder: disputes, windowsPath: claimWindows };
}

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

  const find: Disputes['find'] = async (request) => {
    const { lines, notes } = await findLines({ ...request, databasePath });
    if (lines.length === 0) return { lines: [], notes };
    const claims = await standing(await journal.read());
    const published = await readPublished(databasePath, lines);
    return { lines: claimableOf(lines, { claims, published }), notes };
  };

  return {
    find,
    async atRisk(filters) {
      const { windows } = await readClaimWindows(windowsPath);
      const claims = [...(await standing(await journal.read()))].reverse();
      return linesAtRisk(find, filters, { claims, windows, now: now() });
    },
    async list() {
      const claims = await journal.read();
      return { claims: [...(await standing(claims))].reverse(), problems: claims.problems };
    },
    open: (lines, said) => openClaims(journal, lines, { ...said, now }),
    change: (asked) => changeClaims(journal, asked, { standing, now }),
  };
}
