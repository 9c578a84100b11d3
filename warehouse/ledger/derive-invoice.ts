/**
 * A pure function of the lines: the state is the highest rank of created < finalized < voided, whatever their times are, and which
 * load counts follows from the order in which the ledger recorded loads and facts.
 */

import type { Proof } from '../../lib/warehouse-requests.ts';
import type { Rank } from '../../lib/wire/names.ts';
import { type CountingChange, countingChanges, namedBy, recordedOrder } from './derive-current.ts';
import { contradictions, discrepanciesOf } from './derive-discrepancies.ts';
import {
  type DerivedVoid,
  deriveHeader,
  deriveVoid,
  lastOpen,
  rankOf,
  VOID_CONTRADICTED,
} from './derive-status.ts';
import {
  type AttentionLine,
  type DiscrepancyLine,
  earliest,
  type HeaderCells,
  type InvoiceLines,
  type InvoiceRow,
  type LoadLine,
  latest,
} from './invoice-lines.ts';

export interface DerivedInvoice {
  readonly row: InvoiceRow;
  readonly discrepancies: readonly DiscrepancyLine[];
}

/** @returns null when the ledgers have no line of the invoice (test events do not count) */
export function deriveInvoice(lines: InvoiceLines): DerivedInvoice | null {
  const { evidence, loads, attention } = lines;
  const firstSeenAt = earliest([
    ...evidence.map((line) => line.recorded_at),
    ...loads.map((line) => line.loaded_at),
    ...attention.map((line) => line.recorded_at),
  ]);
  if (firstSeenAt === null) return null;
  const header = deriveHeader(evidence);
  const recorded = recordedOrder(lines);
  const changes = countingChanges(evidence, recorded);
  const current = changes.at(-1)?.load ?? null;
  const firstAt = (rank: Rank): string | null =>
    earliest(evidence.filter((line) => rankOf(line) === rank).map((line) => line.recorded_at));
  const [createdAt, finalizedAt] = [firstAt('draft'), firstAt('finalized')];
  const voided = deriveVoid(evidence, recorded);
  const { voidedAt, restoredAt } = voided;
  const counts = countingSpans(changes, voided.spans);
  const now = counts.at(-1);
  // A later load resolves both, but not a denied void.
  const since = recorded.flatMap(({ version, fact }) =>
    fact !== undefined && version >= (current?.version ?? 0) ? [fact] : [],
  );
  const open = lastOpen(since, null, ({ code }) => code !== VOID_CONTRADICTED);
  const failure = lastOpen(since, 'failure');
  const decided = decideState({
    createdAt: createdAt ?? firstSeenAt,
    finalizedAt,
    voided,
    current,
    open,
    failure,
  });
  const personal = attention.filter(({ kind }) => kind === null);
  const row: InvoiceRow = {
    ...decided,
    ...header.cells,
    service_status: header.status,
    current_load_id: current?.load_id ?? null,
    proof: current === null ? null : proofOf(current, header.cells, lines),
    partner_id: header.partnerId,
    event_id: header.eventId,
    first_seen_at: firstSeenAt,
    created_at: createdAt,
    finalized_at: finalizedAt,
    first_loaded_at: earliest(loads.map((line) => line.loaded_at)),
    loaded_at: current?.loaded_at ?? null,
    voided_at: voidedAt,
    attention_at: latest(personal.filter((line) => line.is_open).map((line) => line.recorded_at)),
    resolved_at: latest(personal.filter((line) => !line.is_open).map((line) => line.recorded_at)),
    versions: loads.length,
    attention_lines: attention.length,
    void_basis: voided.basis,
    restored_at: restoredAt,
    last_version: Math.max(0, ...loads.map(({ version }) => version)),
    counts_since: current === null ? null : (now?.since ?? null),
    past_counts: pastCounts(counts),
  };
  return { row, discrepancies: discrepanciesOf(lines, current, header.cells) };
}

interface CountingSpan {
  readonly since: string;
  readonly load_id: number | null;
  /** Since when the invoice was void in this span; null when it counted. */
  readonly voided_at: string | null;
}

/** From each instant to the next, which load counted and whether it was void; the last one is the present. */
function countingSpans(
  changes: readonly CountingChange[],
  voids: DerivedVoid['spans'],
): readonly CountingSpan[] {
  const instants = [
    ...changes.map(({ at }) => at),
    ...voids.flatMap(({ since, until }) => (until === null ? [since] : [since, until])),
  ];
  const spans: CountingSpan[] = [];
  let [change, open] = [0, 0];
  for (const since of [...new Set(instants)].sort()) {
    while ((changes[change]?.at ?? '~') <= since) change += 1;
    while ((voids[open]?.until ?? '~') <= since) open += 1;
    const from = voids[open]?.since ?? '~';
    const span = {
      load_id: changes[change - 1]?.load?.load_id ?? null,
      voided_at: from <= since ? from : null,
    };
    const before = spans.at(-1);
    if (before?.load_id !== span.load_id || before.voided_at !== span.voided_at)
      spans.push({ since, ...span });
  }
  return spans;
}

function pastCounts(spans: readonly CountingSpan[]): string | null {
  const past = spans
    .slice(0, -1)
    .map((span, index) => ({ ...span, until: spans[index + 1]?.since }))
    .filter(({ load_id }) => load_id !== null);
  return past.length === 0 ? null : JSON.stringify(past);
}

interface Moments {
  readonly createdAt: string;
  readonly finalizedAt: string | null;
  readonly voided: DerivedVoid;
  readonly current: LoadLine | null;
  readonly open: AttentionLine | null;
  readonly failure: AttentionLine | null;
}

type Decided = Pick<InvoiceRow, 'state' | 'state_since' | 'reason_code' | 'reason'>;

/** A current failure sets the reason and does not change the state. */
function decideState(moments: Moments): Decided {
  const { voided, open, failure } = moments;
  const { voidedAt, denial, basis } = voided;
  const reason = { reason_code: failure?.code ?? null, reason: failure?.reason ?? null };
  if (denial !== null) return needsAttention(denial);
  if (voidedAt !== null) {
    const none = { reason_code: null, reason: null };
    return { state: 'voided', state_since: voidedAt, ...(basis === 'unanswered' ? reason : none) };
  }
  return open === null ? { ...reachedState(moments), ...reason } : needsAttention(open);
}

function needsAttention({ recorded_at, code, reason }: AttentionLine): Decided {
  return { state: 'needs_attention', state_since: recorded_at, reason_code: code, reason };
}

function reachedState({
  voided,
  current,
  createdAt,
  finalizedAt,
}: Moments): Pick<InvoiceRow, 'state' | 'state_since'> {
  const since = (at: string): string => latest([at, voided.restoredAt ?? at]) ?? at;
  if (current !== null) return { state: 'loaded', state_since: since(current.loaded_at) };
  if (finalizedAt !== null) return { state: 'finalized', state_since: since(finalizedAt) };
  return { state: 'draft', state_since: since(createdAt) };
}

function proofOf(load: LoadLine, header: HeaderCells, lines: InvoiceLines): Proof {
  const named = namedBy(load, lines);
  if (named !== null) return named === 'named' ? 'hash' : 'announced';
  if (load.is_damaged) return 'accepted';
  const isStated = header.stated_shipments !== null && header.stated_total !== null;
  return isStated && contradictions(header, load).length === 0 ? 'header' : 'unproved';
}
