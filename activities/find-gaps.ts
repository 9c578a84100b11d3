/**
 * Tells when invoices that should have come did not. Nobody can list what was never announced, so each tenant's habit
 * is learned from what did come; the report `gaps` does that, and this asks it.
 */

import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';

/** An invoice, or several, that the usual cadence or the numbering says there should be. */
export interface Gap {
  readonly kind: 'period' | 'overdue' | 'number';
  /** How many invoices are missing, by the tenant's usual billing interval. */
  readonly missing: number;
  /** What a person reads: who, how often, and since or between what. */
  readonly finding: string;
}

export interface FindGapsRequest {
  /** Findings that the last run already reported. */
  readonly known: readonly string[];
}

export interface FindGapsResult {
  readonly gaps: number;
  /** For the next run; at most so many as its request may hold. */
  readonly findings: readonly string[];
}

const ALERT_KEY = 'gaps';
const TOLD = 5;
const REMEMBERED = 200;

export function findGaps({ readGaps, alerts, metrics }: WarehouseDependencies) {
  const missing = metrics.gauge('expected_invoices_missing');
  return ({ known }: FindGapsRequest): Promise<FindGapsResult> =>
    translated(async () => {
      const gaps = await readGaps();
      for (const kind of ['period', 'overdue', 'number'] as const) {
        const ofKind = gaps.filter((gap) => gap.kind === kind);
        missing.set(
          { kind },
          ofKind.reduce((sum, gap) => sum + gap.missing, 0),
        );
      }
      const findings = gaps.map(({ finding }) => finding);
      const news = findings.filter((finding) => !known.includes(finding));
      if (findings.length === 0) alerts.resolve(ALERT_KEY);
      else if (news.length > 0) {
        const more = news.length > TOLD ? ` And ${news.length - TOLD} more.` : '';
        alerts.raise({
          key: ALERT_KEY,
          title: `${news.length === 1 ? 'An invoice' : 'Invoices'} that should have come did not`,
          detail: `${news.slice(0, TOLD).join('; ')}.${more} See \`billsync report gaps\`; \`billsync backfill\` fetches an invoice whose id you know.`,
        });
      }
      return { gaps: gaps.length, findings: findings.slice(0, REMEMBERED) };
    });
}
