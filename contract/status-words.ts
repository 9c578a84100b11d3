/** Reads a status in either of the service's two vocabularies as the webhook's word (spec 3). */

import { INTERNAL_STATUSES, WEBHOOK_STATUSES, type WebhookStatus } from './names.js';

/** `APPROVED`, `Finalized` → `finalized`; null for a word of neither vocabulary, or no word at all. */
export function readStatus(word: unknown): WebhookStatus | null {
  if (typeof word !== 'string') return null;
  const webhookWord = WEBHOOK_STATUSES.find((status) => status === word.toLowerCase());
  if (webhookWord !== undefined) return webhookWord;
  // The two lists are in the same order: DRAFT is draft, PENDING_APPROVAL is pending (spec 3).
  const internalWords: readonly string[] = INTERNAL_STATUSES;
  const rank = internalWords.indexOf(word.toUpperCase());
  return rank === -1 ? null : (WEBHOOK_STATUSES[rank] ?? null);
}
