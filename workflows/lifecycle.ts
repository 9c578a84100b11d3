/**
 * A lattice, `nothing < draft < finalized < voided`: the highest rank counts, never the latest clock. Of several
 * announced files the newest by the service's timestamp counts. So any order of arrival results in the same
 * knowledge.
 */

import type { ExportLocation, InvoiceEvent } from '../lib/wire/invoice-event.ts';
import {
  type InvoiceState,
  RANK_OF_STATUS,
  RANKS,
  type Rank,
  rankOfEvent,
  type WebhookStatus,
} from '../lib/wire/names.ts';
import type { VoidBasis } from '../lib/wire/warehouse-requests.ts';

export interface Announcement {
  readonly eventId: string;
  readonly eventTimestamp: string;
  readonly location: ExportLocation;
}

export interface Attention {
  readonly code: string;
  readonly reason: string;
}

export interface Knowledge {
  readonly rank: Rank;
  readonly seen: readonly string[];
  readonly announcement: Announcement | null;
  readonly loadedSha256: string | null;
  /** The announced hash last completed: loaded, or replaced by an export. */
  readonly completedSha256: string | null;
  readonly isVoidApplied: boolean;
  /** null: not voided, or by a source that needs no confirmation. */
  readonly voidBasis: VoidBasis | null;
  readonly attention: Attention | null;
}

export interface InvoiceLedger {
  readonly state: InvoiceState | null;
  readonly loadedSha256: string | null;
  readonly voidBasis: VoidBasis | null;
  /** A person undid a void, and nothing has voided the invoice since. */
  readonly isRestored: boolean;
  readonly failureCode: string | null;
}

export type Step =
  | 'look-up'
  | 'wait'
  | 'load'
  | 'void'
  /** Voided by an event alone: query the service. */
  | 'confirm'
  | 'attention'
  | 'done';

const RANK_OF_STATE: Readonly<Record<InvoiceState, Rank>> = {
  draft: 'draft',
  finalized: 'finalized',
  loaded: 'finalized',
  voided: 'voided',
  // This state hides the rank, which events or the service then provide again.
  needs_attention: 'nothing',
};

export const NOTHING_KNOWN: Knowledge = {
  rank: 'nothing',
  seen: [],
  announcement: null,
  loadedSha256: null,
  completedSha256: null,
  isVoidApplied: false,
  voidBasis: null,
  attention: null,
};

export const VOID_CONTRADICTED = 'void-contradicted';

export function applyEvent(knowledge: Knowledge, event: InvoiceEvent): Knowledge {
  if (event.isTestEvent || knowledge.seen.includes(event.eventId)) return knowledge;
  const { eventId, eventTimestamp, export: location } = event;
  const announced = location === null ? null : { eventId, eventTimestamp, location };
  const rank = rankOfEvent(event.eventType);
  const isVoid = rank === 'voided' && knowledge.rank !== 'voided';
  // A denied void is confirmed once more after any new event.
  const isDenied = knowledge.voidBasis === 'contradicted';
  return {
    ...knowledge,
    seen: [...knowledge.seen, eventId],
    rank: higher(knowledge.rank, rank),
    voidBasis: isDenied ? 'event' : (knowledge.voidBasis ?? (isVoid ? 'event' : null)),
    announcement: newer(knowledge.announcement, announced),
    attention: null,
  };
}

/** For an event that a person's decision has answered already. */
export function skipEvent(knowledge: Knowledge, { eventId }: InvoiceEvent): Knowledge {
  const { seen } = knowledge;
  return seen.includes(eventId) ? knowledge : { ...knowledge, seen: [...seen, eventId] };
}

export function applyStatus(knowledge: Knowledge, status: WebhookStatus | null): Knowledge {
  if (status === null) return knowledge;
  const voidBasis = status === 'voided' ? 'details' : knowledge.voidBasis;
  return { ...knowledge, rank: higher(knowledge.rank, RANK_OF_STATUS[status]), voidBasis };
}

export function applyVoidOfLoad(knowledge: Knowledge): Knowledge {
  return { ...knowledge, rank: 'voided' };
}

export function applyLedger(
  knowledge: Knowledge,
  { state, loadedSha256, voidBasis }: InvoiceLedger,
): Knowledge {
  const rank = state === null ? 'nothing' : RANK_OF_STATE[state];
  return {
    ...knowledge,
    // The state of a denied void is `needs_attention`, which hides its rank.
    rank: higher(knowledge.rank, voidBasis === null ? rank : 'voided'),
    loadedSha256: loadedSha256 ?? knowledge.loadedSha256,
    voidBasis: voidBasis ?? knowledge.voidBasis,
  };
}

export function applyRestore(knowledge: Knowledge, ledger: InvoiceLedger): Knowledge {
  const undone = { rank: 'nothing', isVoidApplied: false, voidBasis: null, attention: null } as const;
  return applyLedger({ ...knowledge, ...undone }, ledger);
}

export function setVoidBasis(knowledge: Knowledge, voidBasis: Exclude<VoidBasis, 'event'>): Knowledge {
  return { ...knowledge, voidBasis };
}

/** @param load `announcedSha256` is that of the newest announcement when the file was fetched */
export function completeLoad(
  knowledge: Knowledge,
  load: { readonly sha256: string; readonly announcedSha256: string | null },
): Knowledge {
  return {
    ...knowledge,
    loadedSha256: load.sha256,
    completedSha256: load.announcedSha256,
    attention: null,
  };
}

export function requireReload(knowledge: Knowledge): Knowledge {
  return { ...knowledge, loadedSha256: null, announcement: null };
}

export function completeVoid(knowledge: Knowledge): Knowledge {
  const { attention, voidBasis } = knowledge;
  const isDenied = voidBasis === 'contradicted';
  return { ...knowledge, rank: 'voided', isVoidApplied: true, attention: isDenied ? attention : null };
}

export function requireAttention(knowledge: Knowledge, attention: Attention): Knowledge {
  return { ...knowledge, attention };
}

export function clearAttention(knowledge: Knowledge): Knowledge {
  return { ...knowledge, attention: null };
}

/** A void precedes everything, except attention for that void. */
export function nextStep(knowledge: Knowledge): Step {
  if (knowledge.rank === 'voided') {
    if (!knowledge.isVoidApplied) return 'void';
    if (knowledge.voidBasis === 'event') return 'confirm';
    // Denied in an earlier run, of which only the ledger is left: query again.
    if (knowledge.voidBasis === 'contradicted') return knowledge.attention === null ? 'confirm' : 'attention';
    return 'done';
  }
  if (knowledge.attention !== null) return 'attention';
  switch (knowledge.rank) {
    case 'nothing':
      return 'look-up';
    case 'draft':
      return 'wait';
    case 'finalized':
      return isLoaded(knowledge) ? 'done' : 'load';
  }
}

export function stateOf(knowledge: Knowledge): InvoiceState {
  const { rank, voidBasis } = knowledge;
  if (rank === 'voided' && voidBasis !== 'contradicted') return 'voided';
  if (knowledge.attention !== null) return 'needs_attention';
  switch (rank) {
    case 'nothing':
    case 'draft':
      return 'draft';
    case 'finalized':
      return knowledge.loadedSha256 === null ? 'finalized' : 'loaded';
    case 'voided':
      return 'voided';
  }
}

/** A file that was announced since may be neither the loaded one nor completed. */
function isLoaded({ loadedSha256, completedSha256, announcement }: Knowledge): boolean {
  if (loadedSha256 === null) return false;
  if (announcement === null) return true;
  const announced = announcement.location.fileHashSha256;
  return announced === loadedSha256 || announced === completedSha256;
}

function higher(one: Rank, other: Rank): Rank {
  return RANKS.indexOf(one) >= RANKS.indexOf(other) ? one : other;
}

/** By the service's timestamp, then by id, so that the order of arrival does not matter. */
function newer(one: Announcement | null, other: Announcement | null): Announcement | null {
  if (one === null || other === null) return one ?? other;
  const difference = Date.parse(one.eventTimestamp) - Date.parse(other.eventTimestamp);
  if (difference !== 0 && !Number.isNaN(difference)) return difference > 0 ? one : other;
  return one.eventId >= other.eventId ? one : other;
}
