/**
 * A pure function of the lines, so that the order of arrival does not matter: the state is the highest rank of
 * created < finalized < voided, whatever their times are.
 */

import type { Rank } from '../../lib/wire/names.ts';
import type { Proof } from '../../lib/wire/warehouse-requests.ts';
import { currentLoad } from './derive-current.ts';
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

/** @returns null: the ledgers have no line of the invoice (test events do not count) */
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
  const firstAt = (rank: Rank): string | null =>
    earliest(evidence.filter((line) => rankOf(line) === rank).map((line) => line.recorded_at));
  const [createdAt, finalizedAt] = [firstAt('draft'), firstAt('finalized')];
  const voided = deriveVoid(evidence, attention);
  const { voidedAt, restoredAt } = voided;
  const loadedAt = current?.loaded_at ?? '';
  // A later load resolves both, but not a denied void.
  const open = lastOpen(attention, null, loadedAt, ({ code }) => code !== VOID_CONTRADICTED);
  const failure = lastOpen(attention, 'failure', loadedAt);
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
    past_voids: voided.past.length === 0 ? null : JSON.stringify(voided.past),
  };
  return { row, discrepancies: discrepanciesOf(lines, current, header.cells) };
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
  return open === null ? { ...reached(moments), ...reason } : needsAttention(open);
}

function needsAttention({ recorded_at, code, reason }: AttentionLine): Decided {
  return { state: 'needs_attention', state_since: recorded_at, reason_code: code, reason };
}

function reached({
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
