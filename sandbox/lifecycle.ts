/** The table of spec 3: allowed transitions, and the webhook names of each status. */
import type { InternalStatus, WebhookStatus } from './model.ts';
import { RefusalError } from './refusal.ts';

const MOVES: Readonly<Record<InternalStatus, readonly InternalStatus[]>> = {
  DRAFT: ['PENDING_APPROVAL', 'CANCELED'],
  PENDING_APPROVAL: ['APPROVED', 'CANCELED'],
  APPROVED: ['CANCELED'],
  CANCELED: [],
};

export const WEBHOOK_STATUS: Readonly<Record<InternalStatus, WebhookStatus>> = {
  DRAFT: 'draft',
  PENDING_APPROVAL: 'pending',
  APPROVED: 'finalized',
  CANCELED: 'voided',
};

/** @throws RefusalError when the table has no such move. */
export function assertMove(from: InternalStatus, to: InternalStatus): void {
  const allowed = MOVES[from];
  if (allowed.includes(to)) return;
  const may = allowed.length === 0 ? `${from} is final` : `${from} moves to ${allowed.join(' or ')} only`;
  throw new RefusalError(
    'refused_transition',
    `An invoice cannot move from ${from} to ${to}: ${may} (spec 3).`,
  );
}
