import { compareDecimals } from '../../lib/decimal.ts';
import { isReportError } from '../../reports/errors.ts';
import { openReportSession, type SessionRequest } from '../../reports/report-session.ts';
import { findingKey, isUndecided, lineKey } from './claim.ts';
import type { ClaimWithStatus } from './claim-status.ts';
import { type Claimable, type Found, type FoundLine, findIn } from './findings.ts';
import type { Claims } from './journal.ts';
import type { Deadline } from './windows.ts';

/** Risks are in the order of the strength of their evidence: a line that several reports find counts for the first of them. */
export const RISKS = {
  duplicates: 'Billed twice',
  rebills: 'Charged again',
  'rate-variance': 'Above the agreed rate',
  'price-changes': 'Price raised',
  outliers: 'Far above the usual',
  'dimensional-weight': 'Billed by a greater weight',
} as const;
export type Risk = keyof typeof RISKS;
const RISK_NAMES = Object.keys(RISKS) as readonly Risk[];

export type RiskState = 'new' | 'claimed' | 'credited' | 'dismissed';

export interface LineAtRisk extends Claimable, Deadline {
  readonly risk: Risk;
  readonly state: RiskState;
  readonly claim_id: string | null;
  /** Why the line was dismissed, and by whom; null when it was not. */
  readonly dismissal: string | null;
}

export interface AtRisk {
  /** The lines by currency, and within one the highest amount first. */
  readonly lines: readonly LineAtRisk[];
  /** Notes are full sentences, among them one for each finding that could not be made. */
  readonly notes: readonly string[];
  /** Risks of which nothing can be said, because they could not be checked. */
  readonly unchecked: readonly Risk[];
}

/** What was found of each risk, or a sentence about why it could not be found. */
type RisksFound = ReadonlyMap<Risk, Found | string>;

/** Finds all risks in one session with one time limit. @throws ReportError */
export async function findRisks(request: SessionRequest, minimum: string): Promise<RisksFound> {
  const session = await openReportSession(request);
  const found = new Map<Risk, Found | string>();
  try {
    for (const risk of RISK_NAMES) {
      const question = { finding: risk, rows: null, trackingNumbers: null, minimum };
      found.set(
        risk,
        await findIn(session, question).catch((error: unknown) => {
          if (isReportError(error, 'invalid-filter', 'interrupted')) return error.message;
          throw error;
        }),
      );
    }
    return found;
  } finally {
    session.close();
  }
}

export function linesAtRisk(
  risks: RisksFound,
  {
    claimable,
    claims,
    dismissed,
    deadline,
  }: Pick<Claims, 'dismissed'> & {
    readonly claimable: (lines: readonly FoundLine[]) => readonly Claimable[];
    readonly claims: readonly ClaimWithStatus[];
    readonly deadline: (line: Claimable) => Deadline;
  },
): AtRisk {
  const notes: string[] = [];
  const found = new Map<string, LineAtRisk>();
  const unchecked: Risk[] = [];
  const claimsOf = Map.groupBy(claims, lineKey);
  for (const [risk, answer] of risks) {
    const isMade = typeof answer !== 'string';
    if (!isMade || answer.missing.length > 0) unchecked.push(risk);
    for (const note of isMade ? answer.notes : [answer]) notes.push(`${RISKS[risk]}: ${note}`);
    for (const line of claimable(isMade ? answer.lines : [])) {
      const key = lineKey(line);
      if (found.has(key)) continue;
      const ofLine = claimsOf.get(key) ?? [];
      const claim = ofLine.find(isUndecided) ?? ofLine[0] ?? null;
      const dismissal = dismissed.get(findingKey(line)) ?? null;
      const state = riskStateOf(line, claim);
      found.set(key, {
        ...{ ...line, risk, claim_id: claim?.id ?? null },
        state: state === 'new' && dismissal !== null ? 'dismissed' : state,
        dismissal: dismissal === null ? null : `${dismissal.note} (${dismissal.by})`,
        ...deadline(line),
      });
    }
  }
  return { lines: [...found.values()].sort(byAmount), notes, unchecked };
}

function riskStateOf({ hindrance }: Claimable, claim: ClaimWithStatus | null): RiskState {
  if (claim === null) return hindrance === null ? 'new' : 'credited';
  if (claim.state === 'credited') return 'credited';
  return isUndecided(claim) ? 'claimed' : 'dismissed';
}

function byAmount(one: LineAtRisk, other: LineAtRisk): number {
  if (one.currency_code !== other.currency_code) return one.currency_code < other.currency_code ? -1 : 1;
  return compareDecimals(other.claimed, one.claimed);
}
