/**
 * A void counts from the time it is recorded. An operator's restore undoes all voids recorded before it, so that a repeated
 * event changes nothing; a later void counts again.
 */

import {
  EVENTS,
  isEventType,
  isWebhookStatus,
  RANK_OF_STATUS,
  RANKS,
  type Rank,
} from '../../lib/wire/names.ts';
import type { VoidBasis } from '../../lib/wire/warehouse-requests.ts';
import {
  type AttentionLine,
  compare,
  type Evidence,
  HEADER_CELLS,
  type HeaderCell,
  type HeaderCells,
  latest,
} from './invoice-lines.ts';

/** The type of an event decides, whatever status its payload has (a contradiction is a discrepancy). */
export function statusOf({ event_type: type, invoice_status: status }: Evidence): string | null {
  return isEventType(type) ? EVENTS[type].status : status;
}

/** Details without a known status rank below all. */
export function rankOf(line: Evidence): Rank {
  const status = statusOf(line);
  return isWebhookStatus(status) ? RANK_OF_STATUS[status] : 'nothing';
}

/** The file was billed under the header of the finalized invoice; then a void's header, then the draft's. */
const HEADER_RANK: Readonly<Record<Rank, number>> = { nothing: 0, draft: 1, voided: 2, finalized: 3 };

export function deriveHeader(evidence: readonly Evidence[]): {
  readonly cells: HeaderCells;
  readonly status: string | null;
  readonly partnerId: string | null;
  readonly eventId: string | null;
} {
  // Details without a known status describe the invoice as it is, so their header ranks with the best of the others.
  const unranked = Math.max(0, ...evidence.filter((line) => rankOf(line) !== 'voided').map(headerRank));
  const order = (line: Evidence): string =>
    `${rankOf(line) === 'nothing' ? unranked : headerRank(line)}${line.event_time}${line.event_id ?? ''}`;
  const byHeader = evidence.toSorted((a, b) => compare(order(b), order(a)));
  const byStatus = evidence.toSorted((a, b) => compare(statusOrder(b), statusOrder(a)));
  const cellOf = (cell: HeaderCell): string | number | null =>
    byHeader.find((line) => line[cell] !== null)?.[cell] ?? null;
  const cells = Object.fromEntries(
    HEADER_CELLS.map((cell) => [cell, cellOf(cell)]),
  ) as unknown as HeaderCells;
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

export const VOID_CONTRADICTED = 'void-contradicted';
const VOID_UNCONFIRMED = 'void-unconfirmed';

export interface DerivedVoid {
  /** ISO 8601 UTC; null: not voided. */
  readonly voidedAt: string | null;
  readonly basis: VoidBasis | null;
  readonly restoredAt: string | null;
  /** Voids that were undone; no total included the invoice between these times. */
  readonly past: readonly { readonly voided_at: string; readonly restored_at: string }[];
  readonly denial: AttentionLine | null;
}

export function deriveVoid(evidence: readonly Evidence[], attention: readonly AttentionLine[]): DerivedVoid {
  const voids = evidence
    .filter((line) => rankOf(line) === 'voided')
    .toSorted((a, b) => compare(a.recorded_at, b.recorded_at));
  const restores = attention
    .filter(({ kind }) => kind === 'restored')
    .map(({ recorded_at }) => recorded_at)
    .sort();
  const past: { voided_at: string; restored_at: string }[] = [];
  let since = '';
  for (const restored_at of restores) {
    const first = voids.find(({ recorded_at: at }) => at > since && at <= restored_at);
    if (first !== undefined) past.push({ voided_at: first.recorded_at, restored_at });
    since = restored_at;
  }
  const open = voids.filter(({ recorded_at: at }) => at > since);
  const voidedAt = open[0]?.recorded_at ?? null;
  const restoredAt = restores.at(-1) ?? null;
  const times = { voidedAt, restoredAt, past };
  if (voidedAt === null) return { ...times, basis: null, denial: null };
  const isConfirmed = open.some(({ event_id }) => event_id === null);
  if (isConfirmed) return { ...times, basis: 'details', denial: null };
  const denial = lastOpen(attention, null, since, ({ code }) => code === VOID_CONTRADICTED);
  if (denial !== null) return { ...times, basis: 'contradicted', denial };
  const unanswered = lastOpen(attention, 'failure', since, ({ code }) => code === VOID_UNCONFIRMED);
  return { ...times, basis: unanswered === null ? 'event' : 'unanswered', denial: null };
}

/** The newest open line of the kind after an instant that no later or simultaneous line of the kind ends. */
export function lastOpen(
  attention: readonly AttentionLine[],
  kind: AttentionLine['kind'],
  since: string,
  isMeant: (line: AttentionLine) => boolean = () => true,
): AttentionLine | null {
  const lines = attention.filter((line) => line.kind === kind);
  const end =
    latest([since, ...lines.filter((line) => !line.is_open).map((line) => line.recorded_at)]) ?? since;
  const [last] = lines
    .filter((line) => line.is_open && line.recorded_at > end && isMeant(line))
    .toSorted((a, b) => compare(b.recorded_at + (b.code ?? ''), a.recorded_at + (a.code ?? '')));
  return last ?? null;
}
