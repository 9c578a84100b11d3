/**
 * Makes an invoice's row from all that the ledgers say about it: a pure function, so any order of arrival ends alike.
 *
 * The state is a lattice, created < finalized < voided: the highest rank ever heard, never the latest clock. Which
 * header and which version count is decided by rank and by what was stated last, not by what came last.
 */

import { type InvoiceState, RANKS, type Rank } from '../../lib/wire/names.ts';
import type { Proof } from '../warehouse.ts';
import { currentLoad, openAttention, openFailure } from './derive-current.ts';
import { contradictions, discrepanciesOf } from './derive-discrepancies.ts';
import { type DerivedVoid, deriveHeader, deriveVoid, rankOf } from './derive-status.ts';
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

/** null when the ledgers say nothing about the invoice (a test event is nothing). */
export function deriveInvoice(lines: InvoiceLines): DerivedInvoice | null {
  const { evidence, loads, attention } = lines;
  const firstSeenAt = earliest([
    ...evidence.map((line) => line.recorded_at),
    ...loads.map((line) => line.loaded_at),
    ...attention.map((line) => line.recorded_at),
  ]);
  if (firstSeenAt === null) return null;
  const header = deriveHeader(evidence);
  const current = currentLoad(lines);
  const heard = (rank: Rank): string | null =>
    earliest(evidence.filter((line) => rankOf(line) === rank).map((line) => line.recorded_at));
  const heardAt = { nothing: null, draft: heard('draft'), finalized: heard('finalized'), voided: null };
  const voided = deriveVoid(
    evidence
      .filter((line) => rankOf(line) === 'voided')
      .map((line) => ({ recordedAt: line.recorded_at, isEvent: line.event_id !== null })),
    attention,
  );
  const { voidedAt, restoredAt } = voided;
  const open = openAttention(attention, current);
  const failure = openFailure(attention, current);
  const decided = decideState({ firstSeenAt, heardAt, voided, current, open, failure });
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
    created_at: heardAt.draft,
    finalized_at: heardAt.finalized,
    first_loaded_at: earliest(loads.map((line) => line.loaded_at)),
    loaded_at: current?.loaded_at ?? null,
    voided_at: voidedAt,
    attention_at: latest(personal.filter((line) => line.is_open).map((line) => line.recorded_at)),
    resolved_at: latest(personal.filter((line) => !line.is_open).map((line) => line.recorded_at)),
    versions: loads.length,
    attention_lines: attention.length,
    void_basis: voided.word,
    restored_at: restoredAt,
    past_voids: voided.past.length === 0 ? null : JSON.stringify(voided.past),
  };
  return { row, discrepancies: discrepanciesOf(lines, current, header.cells) };
}

interface Moments {
  readonly firstSeenAt: string;
  /** When each rank was first heard of that is a state by itself; a void is derived apart. */
  readonly heardAt: Readonly<Record<Rank, string | null>>;
  readonly voided: DerivedVoid;
  readonly current: LoadLine | null;
  readonly open: AttentionLine | null;
  readonly failure: AttentionLine | null;
}

type Decided = Pick<InvoiceRow, 'state' | 'state_since' | 'reason_code' | 'reason'>;

/** What keeps failing is said of an invoice in whatever state it is; it changes none. */
function decideState(moments: Moments): Decided {
  const { voided, open, failure } = moments;
  const { voidedAt, denial, word } = voided;
  const said = { reason_code: failure?.code ?? null, reason: failure?.reason ?? null };
  if (denial !== null) return needsAttention(denial);
  if (voidedAt !== null) {
    const unsaid = { reason_code: null, reason: null };
    return { state: 'voided', state_since: voidedAt, ...(word === 'unanswered' ? said : unsaid) };
  }
  return open === null ? { ...reached(moments), ...said } : needsAttention(open);
}

function needsAttention({ recorded_at, code, reason }: AttentionLine): Decided {
  return { state: 'needs_attention', state_since: recorded_at, reason_code: code, reason };
}

/** The state of an invoice that has come so far and is not loaded; null: its state is derived apart, or it has none. */
const STATE_AT: Readonly<Record<Rank, InvoiceState | null>> = {
  nothing: null,
  draft: 'draft',
  finalized: 'finalized',
  voided: null,
};

/** What a person restored is in its state since then, however long ago it got there before. */
function reached({ voided, current, heardAt, firstSeenAt }: Moments): {
  readonly state: InvoiceState;
  readonly state_since: string;
} {
  const since = (at: string): string => latest([at, voided.restoredAt ?? at]) ?? at;
  if (current !== null) return { state: 'loaded', state_since: since(current.loaded_at) };
  for (const rank of RANKS.toReversed()) {
    const [state, at] = [STATE_AT[rank], heardAt[rank]];
    if (state !== null && at !== null) return { state, state_since: since(at) };
  }
  return { state: 'draft', state_since: since(firstSeenAt) };
}

function proofOf(load: LoadLine, header: HeaderCells, { evidence, attention }: InvoiceLines): Proof {
  const isNamed =
    load.announced_sha256 === load.file_sha256 ||
    evidence.some((line) => line.announced_sha256 === load.file_sha256) ||
    attention.some(({ kind, file_sha256 }) => kind === 'hash' && file_sha256 === load.file_sha256);
  if (isNamed) return 'hash';
  if (load.is_damaged) return 'accepted';
  const isStated = header.stated_shipments !== null && header.stated_total !== null;
  return isStated && contradictions(header, load).length === 0 ? 'header' : 'unproved';
}
