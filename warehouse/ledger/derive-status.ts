/**
 * A void counts from the time it is recorded. An operator's restore undoes the void events that it names, so that a repeated event
 * changes nothing; every other void counts again, whatever its clock says.
 */

import type { VoidBasis } from '../../lib/warehouse-requests.ts';
import {
  EVENTS,
  isEventType,
  isWebhookStatus,
  RANK_OF_STATUS,
  RANKS,
  type Rank,
} from '../../lib/wire/names.ts';
import type { Recorded } from './derive-current.ts';
import {
  type AttentionLine,
  compare,
  type Evidence,
  HEADER_CELLS,
  type HeaderCell,
  type HeaderCells,
} from './invoice-lines.ts';

/** The type of an event decides, whatever status its payload has (a contradiction is a discrepancy). */
export function statusOf({ event_type: type, invoice_status: status }: Evidence): string | null {
  return isEventType(type) ? EVENTS[type].status : status;
}

/** The rank that a line states; details without a known status rank below all. */
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
  const rank = (line: Evidence): number => (rankOf(line) === 'nothing' ? unranked : headerRank(line));
  // An answer of the service precedes what events state, and the last answer the others: no clock decides.
  const byHeader = evidence.toSorted(
    (a, b) => rank(b) - rank(a) || (b.entry ?? -1) - (a.entry ?? -1) || compare(eventOrder(b), eventOrder(a)),
  );
  const byStatus = evidence.toSorted((a, b) => compare(statusOrder(b), statusOrder(a)));
  const cellOf = (cell: HeaderCell): string | number | null =>
    byHeader.find((line) => line[cell] !== null)?.[cell] ?? null;
  const cells = {
    ...(Object.fromEntries(HEADER_CELLS.map((cell) => [cell, cellOf(cell)])) as unknown as HeaderCells),
    invoice_level: levelOf(byHeader),
  };
  const isPartnerLevel = cells.invoice_level === 'partner';
  return {
    cells: isPartnerLevel ? { ...cells, tenant_id: null, partner_tenant_id: null } : cells,
    status: byStatus.map(statusOf).find((status) => status !== null) ?? null,
    partnerId: byHeader.find((line) => line.partner_id !== null)?.partner_id ?? null,
    eventId: byStatus.find((line) => line.event_id !== null)?.event_id ?? null,
  };
}

/**
 * A tenant or null, in the first record that has either, decides. An invoice of which no record names a tenant, not even by the partner's own
 * reference or in a form that cannot be read, is on partner level once an event was silent about it (spec 2.9).
 */
function levelOf(byHeader: readonly Evidence[]): string | null {
  const stated = byHeader.find(({ invoice_level: level }) => level === 'tenant' || level === 'partner');
  if (stated !== undefined) return stated.invoice_level;
  const isNamed = byHeader.some((line) => line.invoice_level !== null || line.partner_tenant_id !== null);
  return !isNamed && byHeader.some(({ event_id: id }) => id !== null) ? 'partner' : null;
}

function headerRank(line: Evidence): number {
  return HEADER_RANK[rankOf(line)];
}

function eventOrder({ event_time: time, recorded_at: receivedAt, event_id: id }: Evidence): string {
  return time + receivedAt + (id ?? '');
}

function statusOrder(line: Evidence): string {
  return `${RANKS.indexOf(rankOf(line))}${eventOrder(line)}`;
}

export const VOID_CONTRADICTED = 'void-contradicted';
const VOID_UNCONFIRMED = 'void-unconfirmed';

interface Span {
  readonly since: string;
  /** The end of the span; null when it lasts to the present. */
  readonly until: string | null;
}

export interface DerivedVoid {
  /** Since when the invoice is void, in ISO 8601 UTC; null when it is not. */
  readonly voidedAt: string | null;
  readonly basis: VoidBasis | null;
  readonly restoredAt: string | null;
  /** The spans in which the invoice was void, in order and apart from each other. */
  readonly spans: readonly Span[];
  /** The line that needs a person, because the service denies the void or the invoice is excluded. */
  readonly denial: AttentionLine | null;
}

export function deriveVoid(evidence: readonly Evidence[], recorded: readonly Recorded[]): DerivedVoid {
  const restores = recorded.filter(({ fact }) => fact?.kind === 'restored');
  /** For the id of each void event, when the first restore that names it was recorded. */
  const endOf = new Map<string, string>();
  for (const { at, fact } of restores.toReversed())
    for (const id of fact?.names?.split(',') ?? []) endOf.set(id, at);
  const voids = evidence
    .filter((line) => rankOf(line) === 'voided')
    .map(({ event_id: id, recorded_at: at }) => {
      const until = id === null ? null : (endOf.get(id) ?? null);
      return { id, since: until !== null && until < at ? until : at, until };
    });
  const spans = joinSpans([...voids, ...exclusions(recorded)]);
  const open = voids.filter(({ until }) => until === null);
  const last = spans.at(-1);
  const voidedAt = last?.until === null ? last.since : null;
  const derived = { voidedAt, spans, restoredAt: restores.at(-1)?.fact?.recorded_at ?? null };
  if (open.length === 0) {
    const excluded = recorded.findLast(({ fact }) => endsExclusion(fact) || fact?.kind === 'excluded')?.fact;
    if (excluded === undefined || endsExclusion(excluded)) return { ...derived, basis: null, denial: null };
    const basis = excluded.code === 'foreign-partner' ? 'foreign' : 'unknown';
    return { ...derived, basis, denial: excluded };
  }
  if (open.some(({ id }) => id === null)) return { ...derived, basis: 'details', denial: null };
  const facts = recorded.flatMap(({ fact }) => fact ?? []);
  const since = facts.slice(facts.findLastIndex(({ kind }) => kind === 'restored') + 1);
  const denial = lastOpen(since, null, ({ code }) => code === VOID_CONTRADICTED);
  if (denial !== null) return { ...derived, basis: 'contradicted', denial };
  const unanswered = lastOpen(since, 'failure', ({ code }) => code === VOID_UNCONFIRMED);
  return { ...derived, basis: unanswered === null ? 'event' : 'unanswered', denial: null };
}

function endsExclusion(fact: AttentionLine | undefined): boolean {
  return fact?.kind === 'restored' || (fact?.kind === 'excluded' && !fact.is_open);
}

function exclusions(recorded: readonly Recorded[]): readonly Span[] {
  const spans: Span[] = [];
  for (const { at, fact } of recorded) {
    const last = spans.at(-1);
    if (endsExclusion(fact) && last?.until === null) spans[spans.length - 1] = { ...last, until: at };
    else if (fact?.kind === 'excluded' && fact.is_open && last?.until !== null)
      spans.push({ since: at, until: null });
  }
  return spans;
}

function joinSpans(spans: readonly Span[]): readonly Span[] {
  const apart: { since: string; until: string | null }[] = [];
  for (const { since, until } of spans.toSorted((a, b) => compare(a.since, b.since))) {
    const last = apart.at(-1);
    if (last === undefined || (last.until !== null && last.until < since)) apart.push({ since, until });
    else if (last.until !== null && (until === null || until > last.until)) last.until = until;
  }
  return apart;
}

/** @param facts in the order of the ledger @returns the last fact of the kind that no later one of the kind ends */
export function lastOpen(
  facts: readonly AttentionLine[],
  kind: AttentionLine['kind'],
  isMeant: (line: AttentionLine) => boolean = () => true,
): AttentionLine | null {
  const last = facts.findLast((line) => line.kind === kind && (!line.is_open || isMeant(line)));
  return last?.is_open === true ? last : null;
}
