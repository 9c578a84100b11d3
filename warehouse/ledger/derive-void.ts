/**
 * Whether an invoice is voided, on whose word, and which voids a person undid: a pure function of the ledgers' lines.
 *
 * A void counts from the instant it is heard of. What a person restores is restored for good as far as was heard until
 * then, so the same event told again changes nothing; whatever says so later voids the invoice anew.
 */

import type { VoidBasis } from '../warehouse.ts';
import type { AttentionLine } from './invoice-lines.ts';

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
