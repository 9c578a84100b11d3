/** Reads a status in either of the service's two vocabularies, however it is spelled, as the webhook's word (spec 3). */

import type { WebhookStatus } from './names.ts';

/** The stems of both vocabularies, without case and separators, and the spellings that mean the same. */
const WORDS: Readonly<Record<WebhookStatus, readonly string[]>> = {
  draft: ['draft', 'drafted', 'created'],
  pending: ['pending', 'pendingapproval', 'awaitingapproval'],
  finalized: ['finalized', 'finalised', 'final', 'approved'],
  voided: ['voided', 'void', 'cancelled', 'canceled', 'cancel', 'annulled'],
};

const STATUS_OF = new Map(
  Object.entries(WORDS).flatMap(([status, words]) => words.map((word) => [word, status as WebhookStatus])),
);

/**
 * `APPROVED`, `Finalized` → `finalized`; `VOID`, `Cancelled`, `INVOICE_STATUS_CANCELED` → `voided`.
 *
 * @returns null for a word that nobody knows, or no word at all: who reads the first as "no change" loses a void
 */
export function readStatus(word: unknown): WebhookStatus | null {
  if (typeof word !== 'string') return null;
  const letters = word.toLowerCase().replace(/[^\p{L}]/gu, '');
  return STATUS_OF.get(letters.replace(/^(?:invoice)?(?:status)?/, '')) ?? null;
}
