import { compareDecimals } from '../../lib/wire/decimal.ts';
import { isReportError } from '../../reports/errors.ts';
import { isAlive, lineKey } from './claim.ts';
import type { ClaimWithStatus } from './claim-status.ts';
import type { Claimable, FindClaimable, FindRequest } from './findings.ts';
import type { Deadline } from './windows.ts';

/** Strongest evidence first: a line that several reports find counts for the first of them. */
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
}

export interface AtRisk {
  /** Highest amount first within a currency. */
  readonly lines: readonly LineAtRisk[];
  /** Full sentences, including findings that could not be made. */
  readonly notes: readonly string[];
  /** Nothing can be said of these. */
  readonly unchecked: readonly Risk[];
}

export async function linesAtRisk(
  find: FindClaimable,
  filters: FindRequest['filters'],
  claims: readonly ClaimWithStatus[],
  deadline: (line: Claimable) => Deadline,
): Promise<AtRisk> {
  const notes = new Set<string>();
  const found = new Map<string, LineAtRisk>();
  const unchecked: Risk[] = [];
  const claimsOf = Map.groupBy(claims, lineKey);
  for (const risk of RISK_NAMES) {
    try {
      const answer = await find({
        finding: risk,
        ...(filters ? { filters } : {}),
        rows: null,
        trackingNumbers: null,
      });
      if (answer.missing.length > 0) unchecked.push(risk);
      for (const note of answer.notes) notes.add(`${RISKS[risk]}: ${note}`);
      for (const line of answer.lines) {
        const key = lineKey(line);
        if (found.has(key)) continue;
        const ofLine = claimsOf.get(key) ?? [];
        const claim = ofLine.find(isAlive) ?? ofLine[0] ?? null;
        found.set(key, {
          ...{ ...line, risk, claim_id: claim?.id ?? null, state: stateOf(line, claim) },
          ...deadline(line),
        });
      }
    } catch (error) {
      if (!isReportError(error, 'invalid-filter')) throw error;
      unchecked.push(risk);
      notes.add(`${RISKS[risk]}: ${error.message}`);
    }
  }
  return { lines: [...found.values()].sort(byAmount), notes: [...notes], unchecked };
}

function stateOf({ hindrance }: Claimable, claim: ClaimWithStatus | null): RiskState {
  if (claim === null) return hindrance === null ? 'new' : 'credited';
  if (claim.state === 'credited') return 'credited';
  return isAlive(claim) ? 'claimed' : 'dismissed';
}

function byAmount(one: LineAtRisk, other: LineAtRisk): number {
  if (one.currency_code !== other.currency_code) return one.currency_code < other.currency_code ? -1 : 1;
  return compareDecimals(other.claimed, one.claimed);
}
