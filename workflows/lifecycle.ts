/**
 * An invoice's life as a pure function: (what we know, what we hear) → (what we know, what to do next).
 *
 * The lifecycle is a lattice: `nothing < draft < finalized < voided`, and what we know is the highest rank heard,
 * never the latest clock. Of several files announced the newest counts, by the service's own stamp. So duplicates
 * and any order of arrival end in the same knowledge, which a property test proves over every permutation.
 *
 * Nothing here waits, asks or fails; `invoice.ts` acts on the answers.
 */

import {
  type ExportLocation,
  type InvoiceEvent,
  type InvoiceState,
  RANK_OF_STATUS,
  RANKS,
  type Rank,
  rankOfEvent,
  type WebhookStatus,
} from '../lib/wire/names.ts';
import type { VoidBasis } from '../warehouse/warehouse.ts';

/** A file that an event announced. */
export interface Announcement {
  readonly eventId: string;
  readonly eventTimestamp: string;
  readonly location: ExportLocation;
}

/** Why an invoice is parked as `needs_attention`. */
export interface Attention {
  readonly code: string;
  readonly reason: string;
}

export interface Knowledge {
  /** The highest rank heard, from whatever source. */
  readonly rank: Rank;
  /** Ids of the events taken in, so that the server's rare repeat of a signal and a second delivery change nothing. */
  readonly seen: readonly string[];
  /** The newest file announced; null while none was. */
  readonly announcement: Announcement | null;
  /** Hash of the file whose rows are loaded; null while none are. */
  readonly loadedSha256: string | null;
  /** The announced hash last dealt with (loaded, or replaced by another way of getting the file); null before. */
  readonly settledSha256: string | null;
  /** Whether the warehouse was told of the void. */
  readonly isVoidApplied: boolean;
  /** On whose word it is voided; null: nobody's that has to be asked about. */
  readonly voidBasis: VoidBasis | null;
  /** Not null while a person, or a new event, is waited for. */
  readonly attention: Attention | null;
}

/** What the ledger and the loads say of the invoice; what an earlier run of the workflow did is read from here. */
export interface Ledger {
  readonly rank: Rank;
  readonly loadedSha256: string | null;
  readonly voidBasis: VoidBasis | null;
}

export type Step =
  /** Nothing was heard that could be acted on: ask the service what it knows. */
  | 'look-up'
  /** Draft: wait for the event, and ask when it is overdue. */
  | 'wait'
  /** Finalized: get the file and load it. */
  | 'load'
  | 'void'
  /** Voided on an event's word alone: ask the service. */
  | 'confirm'
  /** Parked: wait for `retry` or a new event. */
  | 'attention'
  | 'done';

const RANK_OF_STATE: Readonly<Record<InvoiceState, Rank>> = {
  draft: 'draft',
  finalized: 'finalized',
  loaded: 'finalized',
  voided: 'voided',
  // The state hides the rank; what is parked is raised by its events and by asking again.
  needs_attention: 'nothing',
};

export const NOTHING_KNOWN: Knowledge = {
  rank: 'nothing',
  seen: [],
  announcement: null,
  loadedSha256: null,
  settledSha256: null,
  isVoidApplied: false,
  voidBasis: null,
  attention: null,
};

export function rankOfState(state: InvoiceState): Rank {
  return RANK_OF_STATE[state];
}

/** Code of the attention that stands while the service denies a void. */
export const VOID_CONTRADICTED = 'void-contradicted';

/** Takes an event in. A test event and one already seen change nothing. */
export function hear(knowledge: Knowledge, event: InvoiceEvent): Knowledge {
  if (event.isTestEvent || knowledge.seen.includes(event.eventId)) return knowledge;
  const { eventId, eventTimestamp, export: location } = event;
  const announced = location === null ? null : { eventId, eventTimestamp, location };
  const heard = rankOfEvent(event.eventType);
  const isVoid = heard === 'voided' && knowledge.rank !== 'voided';
  // Something new was said: a void that was denied is asked about once more.
  const isDenied = knowledge.voidBasis === 'contradicted';
  return {
    ...knowledge,
    seen: [...knowledge.seen, eventId],
    rank: higher(knowledge.rank, heard),
    voidBasis: isDenied ? 'event' : (knowledge.voidBasis ?? (isVoid ? 'event' : null)),
    announcement: newer(knowledge.announcement, announced),
    // Something new was said: what was parked is tried again.
    attention: null,
  };
}

/** An event that a person's decision has answered: seen, and nothing else. */
export function ignore(knowledge: Knowledge, { eventId }: InvoiceEvent): Knowledge {
  const { seen } = knowledge;
  return seen.includes(eventId) ? knowledge : { ...knowledge, seen: [...seen, eventId] };
}

/** Takes in what the details endpoint answered; null when it named no status. */
export function learnStatus(knowledge: Knowledge, status: WebhookStatus | null): Knowledge {
  if (status === null) return knowledge;
  const voidBasis = status === 'voided' ? 'details' : knowledge.voidBasis;
  return { ...knowledge, rank: higher(knowledge.rank, RANK_OF_STATUS[status]), voidBasis };
}

/** A load met a void that this run has not heard of: nothing else is known of it. */
export function learnVoid(knowledge: Knowledge): Knowledge {
  return { ...knowledge, rank: 'voided' };
}

/** Takes in what is recorded, so that a new run knows what an earlier one did. */
export function recall(knowledge: Knowledge, ledger: Ledger): Knowledge {
  return {
    ...knowledge,
    rank: higher(knowledge.rank, ledger.rank),
    loadedSha256: ledger.loadedSha256 ?? knowledge.loadedSha256,
    voidBasis: ledger.voidBasis ?? knowledge.voidBasis,
  };
}

/** The service was asked about a void, or need not be. */
export function settleVoidBasis(knowledge: Knowledge, voidBasis: Exclude<VoidBasis, 'event'>): Knowledge {
  return { ...knowledge, voidBasis };
}

/** A person undid the void: what the ledger says now is all that counts of it. */
export function restore(knowledge: Knowledge, ledger: Ledger): Knowledge {
  const undone = { rank: 'nothing', isVoidApplied: false, voidBasis: null, attention: null } as const;
  return recall({ ...knowledge, ...undone }, ledger);
}

/** A file's rows are in the warehouse. `announcedSha256` is what the newest announcement said while it was fetched. */
export function settleLoad(
  knowledge: Knowledge,
  load: { readonly sha256: string; readonly announcedSha256: string | null },
): Knowledge {
  return {
    ...knowledge,
    loadedSha256: load.sha256,
    settledSha256: load.announcedSha256,
    attention: null,
  };
}

/** What is loaded may be outdated: the service's newest file is fetched, and the same one changes nothing. */
export function doubtFile(knowledge: Knowledge): Knowledge {
  return { ...knowledge, loadedSha256: null, announcement: null };
}

/** The warehouse no longer counts the invoice. */
export function settleVoid(knowledge: Knowledge): Knowledge {
  const { attention, voidBasis } = knowledge;
  const isDenied = voidBasis === 'contradicted';
  return { ...knowledge, rank: 'voided', isVoidApplied: true, attention: isDenied ? attention : null };
}

export function park(knowledge: Knowledge, attention: Attention): Knowledge {
  return { ...knowledge, attention };
}

export function unpark(knowledge: Knowledge): Knowledge {
  return { ...knowledge, attention: null };
}

/** What to do now. A void outranks everything but a person's attention for the void itself. */
export function nextStep(knowledge: Knowledge): Step {
  if (knowledge.rank === 'voided') {
    if (!knowledge.isVoidApplied) return 'void';
    if (knowledge.voidBasis === 'event') return 'confirm';
    // Denied in an earlier run, of which only the ledger is left: it is asked about anew.
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

/** The state that people and search attributes see. */
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

/** Loaded, unless a file was announced since that is neither the loaded one nor already dealt with. */
function isLoaded({ loadedSha256, settledSha256, announcement }: Knowledge): boolean {
  if (loadedSha256 === null) return false;
  if (announcement === null) return true;
  const announced = announcement.location.fileHashSha256;
  return announced === loadedSha256 || announced === settledSha256;
}

function higher(one: Rank, other: Rank): Rank {
  return RANKS.indexOf(one) >= RANKS.indexOf(other) ? one : other;
}

/** By the service's stamp, then by id, so that the order of arrival does not decide. */
function newer(one: Announcement | null, other: Announcement | null): Announcement | null {
  if (one === null || other === null) return one ?? other;
  const difference = Date.parse(one.eventTimestamp) - Date.parse(other.eventTimestamp);
  if (difference !== 0 && !Number.isNaN(difference)) return difference > 0 ? one : other;
  return one.eventId >= other.eventId ? one : other;
}
