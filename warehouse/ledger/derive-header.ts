/** What the service says of an invoice itself: its header and its status, from everything that was heard. */

import {
  EVENTS,
  isEventType,
  isWebhookStatus,
  RANK_OF_STATUS,
  RANKS,
  type Rank,
} from '../../lib/wire/names.ts';
import { compare } from './instants.ts';
import { type Evidence, HEADER_CELLS, type HeaderCell, type HeaderCells } from './invoice-lines.ts';

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
