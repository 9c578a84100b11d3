/**
 * Makes an invoice's row from all that the ledgers say about it: a pure function, so any order of arrival ends alike.
 *
 * The state is a lattice, created < finalized < voided: the highest rank ever heard, never the latest clock. Which
 * header and which version count is decided by rank and by what was stated last, not by what came last.
 */

import { compareDecimals } from '../../contract/decimal.js';
import { type InvoiceState, WEBHOOK_STATUSES } from '../../contract/names.js';
import type { Proof, VoidWord } from '../warehouse.js';
import { type DerivedVoid, deriveVoid, VOID_CONTRADICTED } from './derive-void.js';

const HEADER_CELLS = [
  'partner_invoice_id',
  'invoice_level',
  'tenant_id',
  'partner_tenant_id',
  'invoice_number',
  'invoice_start_date',
  'invoice_end_date',
  'invoice_date',
  'invoice_due_date',
  'currency_code',
  'stated_total',
  'stated_shipments',
] as const;
type HeaderCell = (typeof HEADER_CELLS)[number];
type HeaderCells = Readonly<Record<Exclude<HeaderCell, 'stated_shipments'>, string | null>> & {
  readonly stated_shipments: number | null;
};

/** A line of `read-evidence.sql`: an event that counts (with `event_id`) or a details answer (without). */
export interface Evidence extends HeaderCells {
  readonly noted_at: string;
  readonly stamp: string;
  readonly event_id: string | null;
  readonly event_type: string | null;
  readonly invoice_status: string | null;
  readonly partner_id: string | null;
  readonly announced_sha256: string | null;
  readonly announced_size_bytes: number | null;
}

/** A line of `read-loads.sql`: a version. */
export interface LoadLine {
  readonly load_id: number;
  readonly version: number;
  readonly file_sha256: string;
  readonly announced_sha256: string | null;
  /** The announced hash where it was that of the file as HTTP encoded it; else null. */
  readonly encoded_sha256: string | null;
  readonly file_size_bytes: number;
  readonly shipments: number;
  readonly billing_cost: string;
  readonly currency_code: string | null;
  readonly currencies: string;
  readonly first_ship_date: string | null;
  readonly last_ship_date: string | null;
  readonly ends_with_line_end: boolean;
  readonly loaded_at: string;
}

/** A line of `read-attention.sql`. */
export interface AttentionLine {
  readonly noted_at: string;
  readonly is_open: boolean;
  readonly code: string | null;
  readonly reason: string | null;
  /** null: it needs a person. `failure`: what goes wrong while work goes on. The others are a person's decisions. */
  readonly kind: 'failure' | 'restored' | 'version' | null;
  /** Who decided; null: billsync itself. */
  readonly told_by: string | null;
  /** Of `version`: the file that was chosen, and the instant that it is as new as. */
  readonly file_sha256: string | null;
  readonly counts_from: string | null;
}

export interface InvoiceLines {
  readonly evidence: readonly Evidence[];
  readonly loads: readonly LoadLine[];
  readonly attention: readonly AttentionLine[];
}

/** A row of `invoice_state` without its id. */
export interface InvoiceRow extends HeaderCells {
  readonly state: InvoiceState;
  readonly reason_code: string | null;
  readonly reason: string | null;
  readonly state_since: string;
  readonly service_status: string | null;
  readonly current_load_id: number | null;
  readonly proof: Proof | null;
  readonly partner_id: string | null;
  readonly event_id: string | null;
  readonly first_heard_at: string;
  readonly created_at: string | null;
  readonly finalized_at: string | null;
  readonly first_loaded_at: string | null;
  readonly loaded_at: string | null;
  readonly voided_at: string | null;
  readonly attention_at: string | null;
  readonly resolved_at: string | null;
  readonly versions: number;
  /** How many lines of the attention ledger it was made of. */
  readonly notes: number;
  /** On whose word it is voided; null: it is not. */
  readonly void_word: VoidWord | null;
  readonly restored_at: string | null;
  /** JSON list of voids that were undone, each with `voided_at` and `restored_at`; null: none. */
  readonly past_voids: string | null;
}

export interface DiscrepancyLine {
  readonly rule: string;
  readonly stated: string;
  readonly found: string;
  readonly file_sha256: string | null;
  readonly event_id: string | null;
  readonly recorded_at: string;
}

export interface DerivedInvoice {
  readonly row: InvoiceRow;
  readonly discrepancies: readonly DiscrepancyLine[];
}

/** null when the ledgers say nothing about the invoice (a test event is nothing). */
export function deriveInvoice({ evidence, loads, attention }: InvoiceLines): DerivedInvoice | null {
  const firstHeardAt = earliest([
    ...evidence.map((line) => line.noted_at),
    ...loads.map((line) => line.loaded_at),
    ...attention.map((line) => line.noted_at),
  ]);
  if (firstHeardAt === null) return null;
  const header = deriveHeader(evidence);
  const current = currentLoad(loads, evidence, attention);
  const heard = (rank: number): string | null =>
    earliest(evidence.filter((line) => rankOf(line) === rank).map((line) => line.noted_at));
  const [createdAt, finalizedAt] = [heard(1), heard(2)];
  const voided = deriveVoid(
    evidence
      .filter((line) => rankOf(line) === 3)
      .map((line) => ({ notedAt: line.noted_at, isEvent: line.event_id !== null })),
    attention,
  );
  const { voidedAt, restoredAt } = voided;
  const open = openAttention(attention, current);
  const failure = openFailure(attention, current);
  const decided = decideState({ firstHeardAt, createdAt, finalizedAt, voided, current, open, failure });
  const personal = attention.filter(({ kind }) => kind === null);
  const row: InvoiceRow = {
    ...decided,
    ...header.cells,
    service_status: header.status,
    current_load_id: current?.load_id ?? null,
    proof: current === null ? null : proofOf(current, header.cells, evidence),
    partner_id: header.partnerId,
    event_id: header.eventId,
    first_heard_at: firstHeardAt,
    created_at: createdAt,
    finalized_at: finalizedAt,
    first_loaded_at: earliest(loads.map((line) => line.loaded_at)),
    loaded_at: current?.loaded_at ?? null,
    voided_at: voidedAt,
    attention_at: latest(personal.filter((line) => line.is_open).map((line) => line.noted_at)),
    resolved_at: latest(personal.filter((line) => !line.is_open).map((line) => line.noted_at)),
    versions: loads.length,
    notes: attention.length,
    void_word: voided.word,
    restored_at: restoredAt,
    past_voids: voided.past.length === 0 ? null : JSON.stringify(voided.past),
  };
  return {
    row,
    discrepancies: [
      ...announcedDiscrepancies(current, evidence),
      ...loadDiscrepancies(current, header.cells),
      ...statusDiscrepancies(evidence),
      ...unknownStatus(evidence),
    ],
  };
}

/** Compares what the header states with what a load holds; shared with the load, which refuses on it without a hash. */
export function contradictions(
  stated: Pick<HeaderCells, 'stated_total' | 'stated_shipments' | 'currency_code'>,
  load: Pick<LoadLine, 'shipments' | 'billing_cost' | 'currencies'>,
): readonly { readonly rule: string; readonly stated: string; readonly found: string }[] {
  const found: { rule: string; stated: string; found: string }[] = [];
  const { currency_code: currency, stated_shipments: count, stated_total: total } = stated;
  if (currency !== null && load.shipments > 0 && load.currencies !== currency) {
    found.push({ rule: 'currency', stated: currency, found: load.currencies });
  } else if (currency === null && load.currencies.includes(',')) {
    found.push({ rule: 'currency', stated: 'one currency', found: load.currencies });
  }
  if (count !== null && count !== load.shipments) {
    found.push({ rule: 'shipment-count', stated: `${count}`, found: `${load.shipments}` });
  }
  if (total !== null && compareDecimals(total, load.billing_cost) !== 0) {
    found.push({ rule: 'total-amount', stated: total, found: load.billing_cost });
  }
  return found;
}

interface Moments {
  readonly firstHeardAt: string;
  readonly createdAt: string | null;
  readonly finalizedAt: string | null;
  readonly voided: DerivedVoid;
  readonly current: LoadLine | null;
  readonly open: AttentionLine | null;
  readonly failure: AttentionLine | null;
}

type Decided = Pick<InvoiceRow, 'state' | 'state_since' | 'reason_code' | 'reason'>;

/** What keeps failing is said of an invoice in whatever state it is; it changes none. */
function decideState(moments: Moments): Decided {
  const { voided, open, failure } = moments;
  const { voidedAt, denial, word } = voided;
  const said = { reason_code: failure?.code ?? null, reason: failure?.reason ?? null };
  if (denial !== null) return needsAttention(denial);
  if (voidedAt !== null) {
    const unsaid = { reason_code: null, reason: null };
    return { state: 'voided', state_since: voidedAt, ...(word === 'unanswered' ? said : unsaid) };
  }
  return open === null ? { ...reached(moments), ...said } : needsAttention(open);
}

function needsAttention({ noted_at, code, reason }: AttentionLine): Decided {
  return { state: 'needs_attention', state_since: noted_at, reason_code: code, reason };
}

/** What a person restored is in its state since then, however long ago it got there before. */
function reached({ voided, current, finalizedAt, createdAt, firstHeardAt }: Moments): {
  readonly state: InvoiceState;
  readonly state_since: string;
} {
  const since = (at: string): string => latest([at, voided.restoredAt ?? at]) ?? at;
  if (current !== null) return { state: 'loaded', state_since: since(current.loaded_at) };
  if (finalizedAt !== null) return { state: 'finalized', state_since: since(finalizedAt) };
  return { state: 'draft', state_since: since(createdAt ?? firstHeardAt) };
}

/** created 1, finalized 2, voided 3; a details answer without a status ranks below all. */
function rankOf(line: Evidence): 0 | 1 | 2 | 3 {
  switch (statusOf(line)) {
    case 'voided':
      return 3;
    case 'finalized':
      return 2;
    case 'draft':
    case 'pending':
      return 1;
    default:
      return 0;
  }
}

/** An event's type decides, whatever status its payload carries (a contradiction is a discrepancy). */
function statusOf(line: Evidence): string | null {
  switch (line.event_type) {
    case 'invoice_created':
      return 'draft';
    case 'invoice_finalized':
      return 'finalized';
    case 'invoice_voided':
      return 'voided';
    default:
      return line.invoice_status;
  }
}

/** What was stated once finalized is what the file was billed under; then a void's header, then the draft's. */
const HEADER_RANK = [0, 1, 3, 2] as const;

function deriveHeader(evidence: readonly Evidence[]): {
  readonly cells: HeaderCells;
  readonly status: string | null;
  readonly partnerId: string | null;
  readonly eventId: string | null;
} {
  // Details that name no status that we know speak of the invoice as it is: they rank with the best of the others.
  const unranked = Math.max(0, ...evidence.filter((line) => rankOf(line) !== 3).map(headerRank));
  const order = (line: Evidence): string =>
    `${rankOf(line) === 0 ? unranked : headerRank(line)}${line.stamp}${line.event_id ?? ''}`;
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
  return `${rankOf(line)}${line.stamp}${line.event_id ?? ''}`;
}

/**
 * The version that was announced last. A load that no event announced is as new as its loading; one that a person
 * chose is as new as the choice, so that only what is announced after it takes its place. The macro
 * `current_loads_as_known_on` says the same of any instant of the past.
 */
function currentLoad(
  loads: readonly LoadLine[],
  evidence: readonly Evidence[],
  notes: readonly AttentionLine[],
): LoadLine | null {
  const announcedAt = ({ file_sha256: sha256, loaded_at }: LoadLine): string => {
    const announced = evidence.filter((line) => line.announced_sha256 === sha256).map((line) => line.stamp);
    const chosen = notes.flatMap(({ kind, file_sha256, counts_from }) =>
      kind === 'version' && file_sha256 === sha256 && counts_from !== null ? [counts_from] : [],
    );
    return latest([...(announced.length === 0 ? [loaded_at] : announced), ...chosen]) ?? loaded_at;
  };
  return loads.reduce<LoadLine | null>((best, load) => {
    if (best === null) return load;
    const order = compare(announcedAt(load), announcedAt(best));
    return order > 0 || (order === 0 && load.load_id > best.load_id) ? load : best;
  }, null);
}

/** A load that came after ends the need for a person as well as an answer does; a denied void is no matter of loads. */
function openAttention(attention: readonly AttentionLine[], current: LoadLine | null): AttentionLine | null {
  const personal = attention.filter(({ kind, code }) => kind === null && code !== VOID_CONTRADICTED);
  return lastOpenLine(personal, current);
}

/** What goes wrong while work goes on, unless it went well since. What is said of a void is said while it stands. */
function openFailure(attention: readonly AttentionLine[], current: LoadLine | null): AttentionLine | null {
  return lastOpenLine(
    attention.filter(({ kind }) => kind === 'failure'),
    current,
  );
}

function lastOpenLine(lines: readonly AttentionLine[], current: LoadLine | null): AttentionLine | null {
  const ends = [
    current?.loaded_at ?? '',
    latest(lines.filter((line) => !line.is_open).map((line) => line.noted_at)) ?? '',
  ];
  const open = lines
    .filter((line) => line.is_open && ends.every((end) => line.noted_at > end))
    .toSorted((a, b) => compare(b.noted_at + (b.code ?? ''), a.noted_at + (a.code ?? '')));
  return open[0] ?? null;
}

function proofOf(load: LoadLine, header: HeaderCells, evidence: readonly Evidence[]): Proof {
  const wasAnnounced =
    load.announced_sha256 === load.file_sha256 ||
    evidence.some((line) => line.announced_sha256 === load.file_sha256);
  if (wasAnnounced) return 'hash';
  const isStated = header.stated_shipments !== null && header.stated_total !== null;
  return isStated && contradictions(header, load).length === 0 ? 'header' : 'unproved';
}

function loadDiscrepancies(load: LoadLine | null, header: HeaderCells): readonly DiscrepancyLine[] {
  if (load === null) return [];
  const from = { file_sha256: load.file_sha256, event_id: null, recorded_at: load.loaded_at };
  const found = [...contradictions(header, load)];
  const [start, end] = [header.invoice_start_date?.slice(0, 10), header.invoice_end_date?.slice(0, 10)];
  if (load.first_ship_date !== null && load.last_ship_date !== null) {
    const isBefore = start !== undefined && load.first_ship_date < start;
    const isAfter = end !== undefined && load.last_ship_date > end;
    if (isBefore || isAfter) {
      found.push({
        rule: 'period',
        stated: `${start ?? '…'} to ${end ?? '…'}`,
        found: `${load.first_ship_date} to ${load.last_ship_date}`,
      });
    }
  }
  if (!load.ends_with_line_end)
    found.push({ rule: 'no-final-line-end', stated: 'CRLF', found: 'end of file' });
  return found.map((line) => ({ ...line, ...from }));
}

/**
 * What the newest event announced against the file that counts, by whatever way it came: a URL that the service made
 * later, its export and a person's file are all held against it.
 */
function announcedDiscrepancies(
  load: LoadLine | null,
  evidence: readonly Evidence[],
): readonly DiscrepancyLine[] {
  const announced = evidence
    .filter((line) => line.announced_sha256 !== null)
    .reduce<Evidence | null>((best, line) => {
      if (best === null) return line;
      return compare(line.stamp + line.event_id, best.stamp + best.event_id) > 0 ? line : best;
    }, null);
  if (load === null || announced === null) return [];
  // Hash and size are those of the encoded file: what came is what was announced.
  if (announced.announced_sha256 === load.encoded_sha256) return [];
  const { announced_sha256: hash, announced_size_bytes: size, event_id, noted_at } = announced;
  const recorded_at = latest([load.loaded_at, noted_at]) ?? load.loaded_at;
  const of = { file_sha256: load.file_sha256, event_id, recorded_at };
  const found: DiscrepancyLine[] = [];
  if (hash !== null && hash !== load.file_sha256) {
    found.push({ rule: 'announced-hash', stated: hash, found: load.file_sha256, ...of });
  }
  if (size !== null && size !== load.file_size_bytes) {
    found.push({ rule: 'announced-size', stated: `${size}`, found: `${load.file_size_bytes}`, ...of });
  }
  return found;
}

function statusDiscrepancies(evidence: readonly Evidence[]): readonly DiscrepancyLine[] {
  return evidence
    .filter((line) => line.event_type !== null && line.invoice_status !== statusOf(line))
    .map((line) => ({
      rule: 'status-contradicts-type',
      stated: line.event_type ?? '',
      found: line.invoice_status ?? 'no status',
      file_sha256: null,
      event_id: line.event_id,
      recorded_at: line.noted_at,
    }));
}

/** The newest details answer names a status that nobody knows: it may mean a void, so a person has to read it. */
function unknownStatus(evidence: readonly Evidence[]): readonly DiscrepancyLine[] {
  const details = evidence.filter((line) => line.event_id === null && line.invoice_status !== null);
  const newest = details.toSorted((a, b) => compare(b.noted_at, a.noted_at))[0];
  const word = newest?.invoice_status ?? null;
  if (newest === undefined || word === null || WEBHOOK_STATUSES.some((known) => known === word)) return [];
  const found = `none of ${WEBHOOK_STATUSES.join(', ')}`;
  return [
    {
      rule: 'unknown-status',
      stated: word,
      found,
      file_sha256: null,
      event_id: null,
      recorded_at: newest.noted_at,
    },
  ];
}

/** Instants are ISO 8601 UTC of one form, so their text sorts as their time. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function earliest(instants: readonly string[]): string | null {
  return instants.reduce<string | null>((best, at) => (best === null || at < best ? at : best), null);
}

function latest(instants: readonly string[]): string | null {
  return instants.reduce<string | null>((best, at) => (best === null || at > best ? at : best), null);
}
