/**
 * Tells when invoices that should have come did not. Nobody can list what was never announced, so each tenant's habit
 * is learned from what did come; the report `gaps` does that, and this asks it.
 */

import { createHash } from 'node:crypto';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

/** An invoice, or several, that the usual cadence or the numbering says there should be. */
export interface Gap {
  readonly kind: 'period' | 'overdue' | 'number';
  /** How many invoices are missing, by the tenant's usual billing interval. */
  readonly missing: number;
  /** What a person reads: who, how often, and since or between what. */
  readonly finding: string;
}

export interface FindGapsRequest {
  /** The digests that the last run returned; empty for the first run. */
  readonly told: string;
}

export interface FindGapsResult {
  readonly gaps: number;
  /** The first of them, for people. */
  readonly findings: readonly string[];
  /** All of them, for the next run: a digest of each. */
  readonly told: string;
}

const ALERT_KEY = 'gaps';
const TOLD = 5;
const SHOWN = 200;
/** Characters of a digest: of a hundred thousand findings no two share one but once in 50,000 times. */
const DIGEST = 8;
/** 160 KB at most, of the 2 MB that Temporal takes. Beyond, those are remembered whose digests come first, and only they count. */
const REMEMBERED = 20_000;

export function findGaps({ readGaps, alerts, metrics }: WarehouseDependencies) {
  const missing = metrics.gauge('expected_invoices_missing');
  return ({ told }: FindGapsRequest): Promise<FindGapsResult> =>
    translated(async () => {
      const gaps = await readGaps();
      for (const kind of ['period', 'overdue', 'number'] as const) {
        const ofKind = gaps.filter((gap) => gap.kind === kind);
        missing.set(
          { kind },
          ofKind.reduce((sum, gap) => sum + gap.missing, 0),
        );
      }
      const findings = new Map(gaps.map(({ finding }) => [digestOf(finding), finding]));
      const before = new Set(digestsIn(told));
      const remembered = [...findings.keys()].sort().slice(0, REMEMBERED);
      const news = remembered.flatMap((digest) => (before.has(digest) ? [] : [findings.get(digest) ?? '']));
      if (findings.size === 0) alerts.resolve(ALERT_KEY);
      else if (news.length > 0) {
        const more = news.length > TOLD ? ` And ${news.length - TOLD} more.` : '';
        alerts.raise({
          key: ALERT_KEY,
          title: `${news.length === 1 ? 'An invoice' : 'Invoices'} that should have come did not`,
          detail: `${news.slice(0, TOLD).join('; ')}.${more} See \`billsync report gaps\`; \`billsync backfill\` fetches an invoice whose id you know.`,
        });
      }
      return {
        gaps: gaps.length,
        findings: gaps.slice(0, SHOWN).map(({ finding }) => finding),
        told: remembered.join(''),
      };
    });
}

function digestOf(finding: string): string {
  return createHash('sha256').update(finding).digest('base64url').slice(0, DIGEST);
}

function digestsIn(told: string): readonly string[] {
  return told.match(new RegExp(`.{${DIGEST}}`, 'g')) ?? [];
}
