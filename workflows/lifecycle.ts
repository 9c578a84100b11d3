/**
 * A lattice, `nothing < draft < finalized < voided`: the highest rank counts. Announcements that differ are a dispute, which the
 * service settles (ADR 17). No clock is compared, so any order of arrival results in the same steps.
 */

import { isExclusion, type VoidBasis } from '../lib/warehouse-requests.ts';
import type { ExportLocation, InvoiceEvent } from '../lib/wire/invoice-event.ts';
import {
  type InvoiceState,
  RANK_OF_STATUS,
  RANKS,
  type Rank,
  rankOfEvent,
  type WebhookStatus,
} from '../lib/wire/names.ts';

export interface Announcement {
  readonly eventId: string;
  readonly location: ExportLocation;
  readonly statedTotal: string | undefined;
}

export interface Attention {
  readonly code: string;
  readonly reason: string;
}

export interface Knowledge {
  readonly rank: Rank;
  /** Ids of the last events that the run has seen; the ledger knows all. */
  readonly seen: readonly string[];
  /** The announcement that was received last. */
  readonly announcement: Announcement | null;
  /**
   * True while the announcement differs from an earlier one, or from the file that counts, and the service has not been asked
   * since.
   */
  readonly isDisputed: boolean;
  readonly loadedSha256: string | null;
  /** The announced hash whose work is complete: its file was loaded, or replaced by an export. */
  readonly completedSha256: string | null;
  readonly isVoidApplied: boolean;
  /** The basis of a void is null when there is none, or when its source needs no confirmation. */
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
  /** The void is known from an event alone, so the service is asked. */
  | 'confirm'
  | 'attention'
  | 'done';

const RANK_OF_STATE: Readonly<Record<InvoiceState, Rank>> = {
  draft: 'draft',
  finalized: 'finalized',
  loaded: 'finalized',
  voided: 'voided',
  // `needs_attention` hides the rank, which events or the service then provide again.
  needs_attention: 'nothing',
};

export const NOTHING_KNOWN: Knowledge = {
  rank: 'nothing',
  seen: [],
  announcement: null,
  isDisputed: false,
  loadedSha256: null,
  completedSha256: null,
  isVoidApplied: false,
  voidBasis: null,
  attention: null,
};

export const VOID_CONTRADICTED = 'void-contradicted';
/** A limit of remembered ids: forgetting an older one costs one request more at most when its event is repeated. */
const MAX_SEEN = 100;

export function applyEvent(knowledge: Knowledge, event: InvoiceEvent): Knowledge {
  if (event.isTestEvent || knowledge.seen.includes(event.eventId)) return knowledge;
  const { eventId, export: location } = event;
  const statedTotal = event.invoice.invoiceTotalAmount;
  const announced = location === null ? null : { eventId, location, statedTotal };
  const rank = rankOfEvent(event.eventType);
  const isVoid = rank === 'voided' && knowledge.rank !== 'voided';
  // A denied void is confirmed once more after any new event.
  const isDenied = knowledge.voidBasis === 'contradicted';
  return {
    ...knowledge,
    seen: [...knowledge.seen, eventId].slice(-MAX_SEEN),
    rank: higherRank(knowledge.rank, rank),
    voidBasis: isDenied ? 'event' : (knowledge.voidBasis ?? (isVoid ? 'event' : null)),
    announcement: announced ?? knowledge.announcement,
    isDisputed: knowledge.isDisputed || (announced !== null && isOther(announced, knowledge)),
    attention: null,
  };
}

/** Leaves out an event that a person's decision has answered already. */
export function skipEvent(knowledge: Knowledge, { eventId }: InvoiceEvent): Knowledge {
  const { seen } = knowledge;
  return seen.includes(eventId) ? knowledge : { ...knowledge, seen: [...seen, eventId].slice(-MAX_SEEN) };
}

export function applyStatus(knowledge: Knowledge, status: WebhookStatus | null): Knowledge {
  if (status === null) return knowledge;
  const voidBasis = status === 'voided' ? 'details' : knowledge.voidBasis;
  return { ...knowledge, rank: higherRank(knowledge.rank, RANK_OF_STATUS[status]), voidBasis };
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
    rank: higherRank(knowledge.rank, voidBasis === null ? rank : 'voided'),
    loadedSha256: loadedSha256 ?? knowledge.loadedSha256,
    voidBasis: voidBasis ?? knowledge.voidBasis,
    isVoidApplied: knowledge.isVoidApplied || isExclusion(voidBasis),
  };
}

export function applyRestore(knowledge: Knowledge, ledger: InvoiceLedger): Knowledge {
  const undone = { rank: 'nothing', isVoidApplied: false, voidBasis: null, attention: null } as const;
  return applyLedger({ ...knowledge, ...undone }, ledger);
}

export function setVoidBasis(knowledge: Knowledge, voidBasis: Exclude<VoidBasis, 'event'>): Knowledge {
  return { ...knowledge, voidBasis };
}

/** @param load `announcement`: the last one when the file was fetched; a later one may be disputed still */
export function completeLoad(
  knowledge: Knowledge,
  load: { readonly sha256: string; readonly announcement: Announcement | null },
): Knowledge {
  const isDisputed = knowledge.isDisputed && knowledge.announcement?.eventId !== load.announcement?.eventId;
  return {
    ...knowledge,
    loadedSha256: load.sha256,
    completedSha256: load.announcement?.location.fileHashSha256 ?? null,
    isDisputed,
    attention: null,
  };
}

export function requireReload(knowledge: Knowledge): Knowledge {
  return { ...knowledge, isDisputed: true };
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
    // A void that was denied in an earlier run, of which only the ledger is left, is asked about again.
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
  if (isExclusion(voidBasis)) return 'needs_attention';
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

function isLoaded({ loadedSha256, isDisputed }: Knowledge): boolean {
  return loadedSha256 !== null && !isDisputed;
}

/** An announcement that only repeats the last one, or the loaded file, is no dispute. */
function isOther(
  { location, statedTotal }: Announcement,
  { announcement: last, loadedSha256, completedSha256 }: Knowledge,
): boolean {
  const hash = location.fileHashSha256;
  if (last === null) return loadedSha256 !== null && hash !== loadedSha256 && hash !== completedSha256;
  return (
    hash !== last.location.fileHashSha256 ||
    location.fileSizeBytes !== last.location.fileSizeBytes ||
    statedTotal !== last.statedTotal
  );
}

function higherRank(one: Rank, other: Rank): Rank {
  return RANKS.indexOf(one) >= RANKS.indexOf(other) ? one : other;
}
