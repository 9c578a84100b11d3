/**
 * What each view that readers open, and each of its columns, means and in which unit it is. DuckDB keeps it as comments, so
 * every tool that shows a catalogue shows it (`duckdb_columns()`). A test finds what has none.
 */

import { CSV_COLUMNS } from '../../contract/columns.js';

/** By view. Those that only reports read say so. */
const VIEWS: Readonly<Record<string, string>> = {
  shipments:
    'A row per billed line of finalized, not voided invoices. Group by currency_code, and keep to one invoice_level: a partner-level invoice bills again what tenants were billed.',
  tenant_shipments:
    'The lines that are safe to sum: tenant level, with pounds, zone and months. Group by currency_code and, where there are several, by partner_id.',
  invoice_amounts:
    'A row per invoice that was not voided and currency of its lines; they add up to shipments.',
  invoices: 'A row per invoice ever heard of, in any state: what was stated, what was loaded, every instant.',
  tenants: 'A row per tenant of a partner, with its latest name and all its names.',
  partners: 'A row per partner; the id is null for invoices of which none is known.',
  carriers:
    'A row per carrier of a partner, in one spelling, with all its spellings and service levels. Of lines at tenant level.',
  events: 'A row per event received, test events and refused ones included; a repeated delivery is a count.',
  files: 'A row per file and invoice that it came for: where it was had from, and whether it counts.',
  discrepancies: 'A row per difference between two honest sources of one invoice. Nothing here was refused.',
  publication: 'One row: which publication this file is, and what it contains.',
  level_cross_check:
    'A row per tracking number, ship date and currency: what tenants and what the partner were billed for it.',
  shipment_versions:
    'All lines of all versions, of voided invoices too: for questions about the past, never for a total. Filter by is_current and voided_at.',
  repeated_shipments:
    'For the reports: the lines whose tracking number stands on another line as well. Never for a total.',
};

/** By column, wherever it stands; a view that means something else by it says so below. */
const COLUMNS: Readonly<Record<string, string>> = {
  added_columns: 'JSON object of the columns that a file had besides the specified ones; null: none',
  announced_sha256: 'SHA-256 of the file that the event announced, in lower-case hex; null: none',
  announced_size_bytes: 'Size of the file that the event announced, in bytes',
  announced_url: 'Address of the announced file, without its query',
  attention_at: 'Instant since when a person is needed; null: nobody is',
  came_from: 'The address, event or path that the file was first had from',
  created_at: 'Instant at which the service created the invoice',
  currencies: 'Currencies of the loaded lines, separated by commas',
  discrepancies: 'Number of rows in discrepancies',
  discrepancy_rules: 'Rules of the discrepancies, separated by commas; null: none',
  duplicates: 'How often the event was delivered again',
  event_id: 'Id of the event',
  event_timestamp: 'Instant that the event states for itself',
  event_type: 'What the event tells: created, finalized or voided, in the words of the service',
  events: 'Number of events received',
  file_sha256: 'SHA-256 of the file, in lower-case hex',
  file_size_bytes: 'Size of the file, in bytes',
  file_source: 'How the file was had: event, regenerate, export or file',
  finalized_at: 'Instant at which the invoice was finalized; null: not yet',
  first_had_at: 'Instant at which the file was first had',
  first_heard_at: 'Instant at which anything was first heard of the invoice',
  first_loaded_at: 'Instant at which a file of the invoice was first loaded',
  first_ship_date: 'Earliest ship date of the lines',
  found: 'What the other source says',
  invoice_date: 'Date of the invoice, as its header states it',
  invoice_due_date: 'Day on which the invoice is due',
  invoice_end_date: 'Last day of the billing period',
  invoice_level:
    'tenant, partner (sums the lines of all tenants) or unknown (imported without details; counts with tenants)',
  invoice_month: 'Month of the invoice generation date, as 2026-03',
  invoice_number: 'Number of the invoice, as people know it',
  invoice_start_date: 'First day of the billing period',
  invoice_status: 'Status in the words of the event',
  invoices: 'Number of invoices',
  is_current: 'Whether this is the version that counts',
  is_package: 'True on the first line of a carrier’s tracking number, so that counting these counts packages',
  is_test_event: 'Whether the event was a test, which changes nothing',
  last_event_received_at: 'Instant at which the last event was received',
  last_load_id: 'Number of the last load',
  last_ship_date: 'Latest ship date of the lines',
  load_id: 'Number of the load; rises with each',
  loaded_at: 'Instant at which the lines were loaded',
  loaded_invoices: 'Number of invoices whose lines count',
  names: 'All names, in order',
  partner: 'Name of the partner, as its latest partner-level invoice has it',
  partner_billing_cost: 'Sum of the partner-level lines, in currency_code; null: none',
  partner_charges: 'Number of partner-level lines',
  partner_id: 'Id of the partner; null: not known. Never add partners up',
  partner_invoice_id: "The partner's own id of the invoice",
  partner_tenant_id: "The partner's own id of the tenant",
  pounds: 'Billable weight in lb, not rounded; kilograms at 2.2046226218',
  proof: 'What proved the file: hash, header, or unproved; null: nothing is loaded',
  published_at: 'Instant at which this file was made',
  reason: 'Why it is in that state, in words; null: no reason is needed',
  reason_code: 'The same for programs',
  received_at: 'Instant at which the event was received',
  recorded_at: 'Instant at which the difference was found',
  resolved_at: 'Instant at which nobody was needed any more',
  restored_at: 'Instant at which a person undid a void; null: never',
  row_number: 'Number of the line in its file, from 1, without the header',
  rule: 'What was compared, e.g. total-amount',
  sequence: 'Number of the publication',
  service_levels: 'Service levels of its lines, in order',
  service_status: 'Status in the words of the service: draft, finalized or voided',
  ship_month: 'Month of the ship date, as 2026-03',
  shipments: 'Number of lines',
  state: 'draft, finalized, loaded, voided or needs_attention',
  state_since: 'Instant since when it is in that state',
  stated: 'What one source says',
  stated_currency_code: 'ISO 4217 currency of the stated total',
  stated_shipments: 'Number of lines that the header states; null: none stated',
  stated_total_amount:
    'Total that the header states, in its currency; null: none, or not a decimal of four places',
  stated_total_text: 'The same, digit by digit as it was stated',
  tenant: 'Name of the tenant on the latest invoice; a label, which may change',
  tenant_billing_cost: 'Sum of the tenant-level lines, in currency_code; null: none',
  tenant_charges: 'Number of tenant-level lines',
  tenant_id: 'Id of the tenant: tells tenants apart; null: not known, or a partner-level invoice',
  tenants: 'Number of tenants',
  times_had: 'How often the file was had',
  url_expires_at: 'Instant until which the announced address works',
  verdict: 'accepted, test or quarantined',
  version: 'Which version of the invoice’s file, from 1',
  versions: 'Number of versions of the invoice’s file',
  void_word: 'Who told of the void: event, details, unanswered or contradicted; null: not voided',
  voided_at: 'Instant at which the invoice was voided; null: not',
  workflow_run_id: 'Run of the workflow that loaded it',
  zone: 'carrier_zone in one spelling: "Zone 5", "05" and "5" are 5',
};

const OF_VIEW: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  carriers: {
    carrier: 'The spelling on most lines',
    names: 'All spellings, in order; shipments.carrier has one of them',
  },
  events: {
    currency_code: 'ISO 4217 currency of the stated total',
    invoice_id: 'The invoice that the event tells of; null: none',
    reason: 'Why the event was refused; null: it was not',
    tenant_id: 'Id of the tenant that the event names',
  },
  files: {
    loaded_at: 'Instant at which its lines were loaded; null: they were not',
    shipments: 'Number of its lines; null: not loaded',
    billing_cost: 'Sum of its lines in currency_code; null: not loaded',
    currency_code: 'ISO 4217 currency of billing_cost',
  },
  invoice_amounts: { billing_cost: 'Sum of the lines in currency_code' },
  invoices: {
    billing_cost: 'Sum of the loaded lines in currency_code; null: nothing is loaded',
    currency_code: 'ISO 4217 currency of billing_cost, else of the stated total',
    shipments: 'Number of loaded lines; null: nothing is loaded',
    tenant: 'Name of the tenant, or of the partner on a partner-level invoice; null: nothing is loaded',
  },
  level_cross_check: {
    tenant: 'A tenant that was billed for it; null: none',
    verdict: 'equal, differs, only-tenant or only-partner',
  },
  publication: {
    invoices: 'Number of invoices ever heard of',
    shipments: 'Number of rows of shipments',
  },
};

const OF_CSV: Readonly<Record<string, string>> = Object.fromEntries(
  CSV_COLUMNS.map(({ name, meaning, unit }) => [name, unit === null ? meaning : `${meaning}; in ${unit}`]),
);

/** A view of lines has the cells of their files. */
const OF_LINES = ['shipments', 'tenant_shipments', 'shipment_versions', 'repeated_shipments'];

/** @returns null where nothing is said of it */
export function viewComment(view: string): string | null {
  return VIEWS[view] ?? null;
}

/** @returns null where nothing is said of it */
export function columnComment(view: string, column: string): string | null {
  const ofLines = OF_LINES.includes(view) ? OF_CSV[column] : undefined;
  return OF_VIEW[view]?.[column] ?? ofLines ?? COLUMNS[column] ?? OF_CSV[column] ?? null;
}

/** The views and columns of which something is said; those of the CSV are said elsewhere. */
export function saidOf(): { readonly views: readonly string[]; readonly columns: readonly string[] } {
  const columns = [COLUMNS, ...Object.values(OF_VIEW)].flatMap((said) => Object.keys(said));
  return { views: Object.keys(VIEWS), columns };
}

/** Changes whenever a comment does. */
export const COMMENTS_TEXT = JSON.stringify([VIEWS, COLUMNS, OF_VIEW, OF_CSV]);

/** The statements that write them, for the views that are there; and a warning on the tables behind them. */
export function commentScript(places: {
  readonly columns: readonly { readonly view: string; readonly column: string }[];
  readonly tables: readonly string[];
}): string {
  const said = places.columns.filter(({ view }) => viewComment(view) !== null);
  const views = [...new Set(said.map(({ view }) => view))];
  return [
    ...places.tables.map((table) => `comment on table ${table} is ${quoted(OF_TABLES)};`),
    ...views.map((view) => `comment on view ${view} is ${quoted(viewComment(view))};`),
    ...said.map(
      ({ view, column }) =>
        `comment on column ${view}."${column}" is ${quoted(columnComment(view, column))};`,
    ),
  ].join('\n');
}

const OF_TABLES = 'Internal to billsync, and not safe to sum: ask the views. May change with any version.';

function quoted(text: string | null): string {
  return text === null ? 'null' : `'${text.replaceAll("'", "''")}'`;
}
