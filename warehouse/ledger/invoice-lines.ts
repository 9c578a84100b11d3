import type { Proof, VoidBasis } from '../../lib/warehouse-requests.ts';
import type { FileSource, InvoiceState } from '../../lib/wire/names.ts';

export const HEADER_CELLS = [
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
export type HeaderCell = (typeof HEADER_CELLS)[number];
export type HeaderCells = Readonly<Record<Exclude<HeaderCell, 'stated_shipments'>, string | null>> & {
  readonly stated_shipments: number | null;
};

/** An accepted event (with `event_id`) or a details response (without). */
export interface Evidence extends HeaderCells {
  readonly recorded_at: string;
  /** By the sender's clock, at most two minutes after its receipt. */
  readonly event_time: string;
  /** Number of a details response, rising in the order of the ledger; null for an event. */
  readonly entry: number | null;
  readonly event_id: string | null;
  readonly event_type: string | null;
  readonly invoice_status: string | null;
  readonly partner_id: string | null;
  readonly announced_sha256: string | null;
  readonly announced_size_bytes: number | null;
}

export interface LoadLine {
  readonly load_id: number;
  readonly version: number;
  readonly file_source: FileSource;
  readonly file_sha256: string;
  readonly announced_sha256: string | null;
  readonly encoded_sha256: string | null;
  /** The file was imported although the service had named the hash of another one. */
  readonly is_denied: boolean;
  /** A spreadsheet seems to have changed its cells, and the operator accepted that. */
  readonly is_damaged: boolean;
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

export interface AttentionLine {
  readonly recorded_at: string;
  readonly is_open: boolean;
  readonly code: string | null;
  readonly reason: string | null;
  /**
   * null: needs attention. `failure`: a failure that is retried. `hash`: named by the service. `excluded`: not ours, or not known to
   * the service. The others are decisions.
   */
  readonly kind: 'failure' | 'restored' | 'version' | 'hash' | 'excluded' | null;
  readonly decided_by: string | null;
  /** The hash of the chosen file (`version`), or the named hash (`hash`). */
  readonly file_sha256: string | null;
  /** The newest version that the ledger had; null: the writer does not know the versions. */
  readonly after_version: number | null;
  /** Comma-separated: the ids of the void events that `restored` answers, or the hashes that `version` decides against. */
  readonly names: string | null;
}

export interface InvoiceLines {
  readonly evidence: readonly Evidence[];
  readonly loads: readonly LoadLine[];
  /** Lines of attention in the order of the ledger. */
  readonly attention: readonly AttentionLine[];
}

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
  readonly first_seen_at: string;
  readonly created_at: string | null;
  readonly finalized_at: string | null;
  readonly first_loaded_at: string | null;
  readonly loaded_at: string | null;
  readonly voided_at: string | null;
  readonly attention_at: string | null;
  readonly resolved_at: string | null;
  readonly versions: number;
  readonly attention_lines: number;
  readonly void_basis: VoidBasis | null;
  readonly restored_at: string | null;
  readonly last_version: number;
  /** Since when the current load counts, or is void as now; null when nothing is loaded. */
  readonly counts_since: string | null;
  /** JSON list of earlier spans, each with `load_id`, `voided_at`, `since` and `until`; null when there is none. */
  readonly past_counts: string | null;
}

export interface DiscrepancyLine {
  readonly rule: string;
  readonly stated: string;
  readonly found: string;
  readonly file_sha256: string | null;
  readonly event_id: string | null;
  readonly recorded_at: string;
}

/** Compares instants too: ISO 8601 UTC of one form sorts as text. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function earliest(instants: readonly string[]): string | null {
  return instants.reduce<string | null>((best, at) => (best === null || at < best ? at : best), null);
}

export function latest(instants: readonly string[]): string | null {
  return instants.reduce<string | null>((best, at) => (best === null || at > best ? at : best), null);
}
