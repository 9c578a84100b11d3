/** What the service says of an invoice itself: its header and its status, from everything that was heard. */

import {
  EVENTS,
  isEventType,
  isWebhookStatus,
  RANK_OF_STATUS,
  RANKS,
  type Rank,
} from '../../lib/wire/names.ts';
import type { VoidBasis } from '../warehouse.ts';
import {
  type AttentionLine,
  compare,
  type Evidence,
  HEADER_CELLS,
  type HeaderCell,
  type HeaderCells,
} from './invoice-lines.ts';

/** An event's type decides, whatever status its payload carries (a contradiction is a discrepancy). */
export function statusOf({ event_type: type, invoice_status: status }: Evidence): string | null {
  return isEventType(type) ? EVENTS[type].status : status;
}

/** Details without a status that we know rank below all. */
export function rankOf(line: Evidence): Rank {
  const status = statusOf(line);
  return isWebhookStatus(status) ? RANK_OF_STATUS[status] : 'nothing';
}

/** What was stated once finalized is what the file was billed under; then a void's header, then the draft's. */
const HEADER_RANK: Readonly<Record<Rank, number>> = { nothing: 0, draft: 1, voided: 2, finalized: 3 };

export function deriveHeader(evidence: readonly Evidence[]): {
  readonly cells: HeaderCells;
  readonly status: string | null;
  readonly partnerId: string | null;
  readonly eventId: string | null;
} {
  // Details that name no status that we know speak of the invoice as it is: they rank with the best of the others.
  const unranked = Math.max(0, ...evidence.filter((line) => rankOf(line) !== 'voided').map(headerRank));
  const order = (line: Evidence): string =>
    `${rankOf(line) === 'nothing' ? unranked : headerRank(line)}${line.event_time}${line.event_id ?? ''}`;
  const byHeader = evidence.toSorted((a, b) => compare(order(b), order(a)));
  const byStatus = evidence.toSorted((a, b) => compare(statusOrder(b), statusOrder(a)));
  const told = (cell: HeaderCell): string | number | null =>
    byHeader.find((line) => line[cell] !== null)?.[cell] ?? null;
  const cells = Object.fromEntries(HEADER_CELLS.map((cell) => [cell, told(cell)])) as unknown as HeaderCells;
  const isPartnerLevel = cells.invoice_level === 'partner';
  return {
    cells: isPartnerLevel ? { ...cells, tenant_id: null, partner_tenant_id: null } : cells,
    status: byStatus.map(statusOf).find((status) => status !== null) ?? null,
    partnerId: byHeader.find((line) => line.partner_id !== null)?.partner_id ?? null,
    eventId: byStatus.find((line) => line.event_id !== null)?.event_id ?? null,
  };
}

function headerRank(line: Evidence): number {
  return HEADER_RANK[rankOf(line)];
}

function statusOrder(line: Evidence): string {
  return `${RANKS.indexOf(rankOf(line))}${line.event_time}${line.event_id ?? ''}`;
}

/*  * Whether an invoice is voided, on whose word, and which voids a person undid: a pure function of the ledgers' lines.
 *
 * A void counts from the instant it is heard of. What a person restores is restored for good as far as was heard until
 * then, so the same event told again changes nothing; whatever says so later voids the invoice anew.
 */

/** Code of the attention that stands while the service denies a void. */
export const VOID_CONTRADICTED = 'void-contradicted';
/** Code of the note that stands when the service could not be asked about a void. */
export const VOID_UNCONFIRMED = 'void-unconfirmed';

export interface DerivedVoid {
  /** ISO 8601 UTC; null: not voided. */
  readonly voidedAt: string | null;
  readonly word: VoidBasis | null;
  /** When a person last undid a void; null: nobody did. */
  readonly restoredAt: string | null;
  /** Voids that were undone: from when until when no total had the invoice. */
  readonly past: readonly { readonly voided_at: string; readonly restored_at: string }[];
  /** The attention that a denied void stands for; null unless `contradicted`. */
  readonly denial: AttentionLine | null;
}

/** When somebody said that the invoice is void. */
export interface VoidLine {
  readonly recordedAt: string;
  readonly isEvent: boolean;
}

export function deriveVoid(lines: readonly VoidLine[], notes: readonly AttentionLine[]): DerivedVoid {
  const voids = lines.toSorted((a, b) => (a.recordedAt < b.recordedAt ? -1 : 1));
  const restores = notes
    .filter(({ kind }) => kind === 'restored')
    .map(({ recorded_at }) => recorded_at)
    .sort();
  const past: { voided_at: string; restored_at: string }[] = [];
  let since = '';
  for (const restored_at of restores) {
    const first = voids.find(({ recordedAt }) => recordedAt > since && recordedAt <= restored_at);
    if (first !== undefined) past.push({ voided_at: first.recordedAt, restored_at });
    since = restored_at;
  }
  const open = voids.filter(({ recordedAt }) => recordedAt > since);
  const voidedAt = open[0]?.recordedAt ?? null;
  const restoredAt = restores.at(-1) ?? null;
  if (voidedAt === null) return { voidedAt, word: null, restoredAt, past, denial: null };
  const standing = (code: string): AttentionLine | null => lastOpen(notes, code, since);
  const denial = standing(VOID_CONTRADICTED);
  const isConfirmed = open.some(({ isEvent }) => !isEvent);
  const told = { voidedAt, restoredAt, past };
  if (isConfirmed) return { ...told, word: 'details', denial: null };
  if (denial !== null) return { ...told, word: 'contradicted', denial };
  return { ...told, word: standing(VOID_UNCONFIRMED) === null ? 'event' : 'unanswered', denial: null };
}

/** The last note of that code since an instant, unless one that ends its kind came after it. */
function lastOpen(notes: readonly AttentionLine[], code: string, since: string): AttentionLine | null {
  const [last] = notes
    .filter((line) => line.is_open && line.code === code && line.recorded_at > since)
    .toSorted((a, b) => (a.recorded_at < b.recorded_at ? 1 : -1));
  if (last === undefined) return null;
  const isEnded = notes.some(
    ({ is_open, kind, recorded_at }) => !is_open && kind === last.kind && recorded_at >= last.recorded_at,
  );
  return isEnded ? null : last;
}
