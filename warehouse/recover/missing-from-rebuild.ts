/** What a rebuild would lose: what could not be repeated, and what the warehouse before it has and it has not. */

import { type HeldRecord, lackingFacts } from '../ledger/archive-diff.ts';
import type { LoadFact } from '../ledger/ingest.ts';
import type { LostRecord } from '../opening.ts';

export interface Losses {
  readonly losses: readonly LostRecord[];
  /** Whether the warehouse before holds anything that this one does not. */
  readonly holdsLess: boolean;
}

export interface Comparison {
  /** What the warehouse before has and the new one has not. */
  readonly lacking: readonly HeldRecord[];
  /** Loads whose file was purged: no loss, unless totals have come to see them since. */
  readonly purged: readonly LoadFact[];
}

/** @param notMade what could not be repeated */
export function findLosses(notMade: readonly LostRecord[], { lacking: all, purged }: Comparison): Losses {
  const purgedLoads = new Set(purged.map(({ loadId }) => `${loadId}`));
  const lacking = all.filter(
    ({ kind, subject, isCounted }) => kind !== 'load' || isCounted || !purgedLoads.has(subject),
  );
  const losses = [...notMade];
  const knownLoads = new Set(notMade.map(({ loadId }) => `${loadId}`));
  for (const { kind, subject, invoiceId, sha256 } of lacking) {
    if (kind !== 'load' || knownLoads.has(subject)) continue;
    const why = purgedLoads.has(subject)
      ? 'its file was purged, and it has come to count since'
      : 'the archive has no fact of this load';
    losses.push({ invoiceId, loadId: Number(subject), sha256, why });
  }
  const told = new Set(losses.map(({ invoiceId }) => invoiceId));
  for (const { kind, invoiceId } of lacking) {
    if (kind !== 'invoice' || told.has(invoiceId)) continue;
    losses.push({ ...NO_LOAD, invoiceId, why: 'the archive tells nothing of this invoice' });
  }
  const events = lacking.filter(({ kind }) => kind === 'event').length;
  if (events > 0)
    losses.push({ ...NO_LOAD, why: `the archive lacks ${events} ${events === 1 ? 'event' : 'events'}` });
  for (const { kind, invoiceId, lines } of lackingFacts(lacking)) {
    const facts = lines === 1 ? 'fact' : 'facts';
    losses.push({ ...NO_LOAD, invoiceId, why: `the archive lacks ${lines} ${facts} of kind ${kind}` });
  }
  return { losses, holdsLess: lacking.length > 0 };
}

const NO_LOAD = { invoiceId: null, loadId: null, sha256: null } as const;
