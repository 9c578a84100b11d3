/**
 * What each column of the views means, as Markdown for docs/reference; `view.column` where a name means something else in one
 * view.
 */

import { CSV_COLUMNS } from '../../lib/wire/csv-file.ts';
import { EVENT_TYPES } from '../../lib/wire/names.ts';

export const COLUMN_MEANINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(CSV_COLUMNS.map(({ name, meaning, unit }) => [name, withUnit(meaning, unit)])),

  // Identity.
  invoice_id: 'The service’s id of the invoice (spec 2.6)',
  invoice_number: 'Number for people; null: unknown',
  partner_invoice_id: 'The partner’s own reference, if one was assigned',
  invoice_level: '`tenant`, `partner` (sums the shipments of all tenants, spec 2.9) or `unknown`',
  tenant_id: 'The service’s id of the tenant; null on partner level, or not stated',
  partner_tenant_id: 'The partner’s own id of the tenant',
  partner_id: 'The partner; null where an invoice was imported without details',
  names: 'Every name that the tenant’s invoices have had',
  partner: 'Name of the partner, from its latest partner-level invoice',
  'partners.tenants': 'How many tenants have invoices',
  'tenants.tenant': 'Name on the tenant’s latest invoice',
  'tenants.invoices': 'How many invoices, voided ones included',
  'partners.invoices': 'How many invoices, voided ones included',
  'carriers.carrier': 'The spelling on most lines',
  'carriers.names': 'Every spelling; `shipments.carrier` has one of them',
  'carriers.shipments': 'Number of its rows in `shipments`, tenant level',
  'carriers.first_ship_date': 'Earliest ship date of these rows',
  'carriers.last_ship_date': 'Latest ship date of these rows',
  service_levels: 'Every service level of these rows',

  // A shipment.
  row_number: 'Line of the file, counted from 1 below the header row',
  added_columns: 'JSON of columns that the service added and `BILLSYNC_CSV_TOLERATE` accepts; null if none',
  pounds: 'Weight in pounds, not rounded (KG × 2.2046226218); null without a weight',
  zone: 'Carrier zone in one spelling (“Zone 5” and “ZONE-05” are `5`)',
  ship_month: 'Month of the ship date, `YYYY-MM`',
  invoice_month: 'Month of the invoice’s generation, `YYYY-MM`',
  is_package: 'True on the first line of a carrier’s tracking number: counting it counts packages',

  // State.
  state:
    '`draft`, `finalized`, `loaded`, `voided` or `needs_attention` ([glossary](../glossary.md#invoices))',
  reason_code: 'Why it needs attention, as a stable code; null otherwise',
  reason: 'The same for people: what happened, what was tried, what to do',
  state_since: 'When it came into this state',
  service_status: 'Status by the service: `draft`, `pending`, `finalized` or `voided`',
  invoice_start_date: 'First day of the billing period',
  invoice_end_date: 'Last day of the billing period',
  invoice_date: 'Day on which the invoice was generated, as the service stated it',
  invoice_due_date: 'Day on which it is due',
  stated_total_amount: 'Total that the service stated, in `stated_currency_code`',
  stated_total_text: 'The same with all the digits it came with',
  stated_shipments: 'Number of shipments that the service stated',
  stated_currency_code: 'Currency that the service stated',
  'events.stated_total_amount': 'Total that the event stated, in `currency_code`',
  'invoices.currency_code': 'Currency of `billing_cost`; of the stated total while nothing is loaded',
  'invoices.tenant': 'Tenant’s name in the file that counts; null while nothing is loaded',
  'invoice_amounts.tenant': 'Tenant’s name in the file that counts',
  'invoices.billing_cost': 'Sum of the file’s rows in `currency_code`; null while nothing is loaded',
  'invoice_amounts.billing_cost': 'Sum of the invoice’s rows in this currency',
  'files.billing_cost': 'Sum of the file’s rows in `currency_code`; null when it was not loaded',
  shipments: 'Number of rows in the file that counts; null while nothing is loaded',
  'invoice_amounts.shipments': 'Number of the invoice’s rows in this currency',
  'files.shipments': 'Number of its rows; null when it was not loaded',
  'publication.shipments': 'Rows of `shipments` in this file',
  currencies: 'Every currency in the file, comma-separated',
  proof:
    'Why the file is believed complete: `hash`, `header`, `accepted` (a spreadsheet seems to have changed it) or `unproved` ([ADR 17](../adr/0017-proof-of-a-file.md))',
  discrepancies: 'How many differences between trustworthy sources are on record',
  discrepancy_rules: 'Their rules, comma-separated; null if none',
  version: 'Which of the invoice’s loaded files this is, from 1',
  versions: 'How many files were loaded for it',
  file_sha256: 'SHA-256 of the CSV, lower-case hexadecimal',
  file_size_bytes: 'Size of the CSV in bytes',
  file_source:
    'How the file came: `event`, `regenerate`, `export` or `file` ([glossary](../glossary.md#invoices))',
  first_ship_date: 'Earliest ship date in the file',
  last_ship_date: 'Latest ship date in the file',
  load_id: 'Number of the load in the warehouse, rising',
  event_id: 'Event that led to it, as far as one did',
  workflow_run_id: 'Run of the Temporal workflow that loaded it',
  first_seen_at: 'When billsync first received a record of it',
  created_at: 'When it was created, by the service',
  finalized_at: 'When it was finalized, by the service',
  first_loaded_at: 'When its first file was loaded',
  loaded_at: 'When the file was loaded',
  voided_at: 'When it was voided; null if it is not',
  attention_at: 'When it last came to need attention',
  resolved_at: 'When that was last resolved',
  void_basis:
    'Basis of the void: `event`, `details`, `unanswered`, `contradicted` ([ADR 19](../adr/0019-confirm-voids.md))',
  restored_at: 'When an operator last undid a void',
  is_current: 'True if this file is the one that counts',

  // Events.
  received_at: 'When the delivery arrived, by our clock',
  verdict: '`accepted`, `test` or `quarantined`',
  'events.reason': 'Why it was quarantined, as a stable code; null otherwise',
  event_type: new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
    EVENT_TYPES.map((type) => `\`${type}\``),
  ),
  event_timestamp: 'When the service generated the event, by its clock',
  is_test_event: 'True: kept on record, never acted on',
  invoice_status: 'Status that the event stated',
  'events.currency_code': 'Currency that the event stated',
  announced_sha256: 'SHA-256 that the event announced; null unless finalized',
  announced_size_bytes: 'Size that the event announced',
  announced_url: 'URL of the file in the event, without the secret query',
  url_expires_at: 'Until when that URL was valid',
  duplicates: 'How many further deliveries of this event came',

  // Files.
  came_from: 'URL without its query, or the name of an imported file; null for `export-csv`',
  first_had_at: 'When the file was first in the archive',
  times_had: 'How often it was downloaded or imported',

  // Discrepancies.
  rule: 'What differs, as a stable code, e.g. `total`, `count`',
  stated: 'Value of one source (usually the event)',
  found: 'Value of the other source (usually the file)',
  recorded_at: 'When it was recorded',

  // Publication.
  sequence: 'Number of the publication, rising by one',
  published_at: 'When it was made',
  'publication.invoices': 'Rows of `invoices` in this file',
  loaded_invoices: 'Invoices in it whose shipments count',
  events: 'Rows of `events` in this file',
  last_load_id: 'Newest load in it',
  last_event_received_at: 'Newest event in it',

  // Levels side by side.
  tenant_charges: 'Lines of tenant-level invoices',
  partner_charges: 'Lines of partner-level invoices',
  tenant_billing_cost: 'Their cost on tenant level; null if there are none',
  partner_billing_cost: 'Their cost on partner level; null if there are none',
  'level_cross_check.verdict': '`equal`, `differs`, `only-tenant` or `only-partner`',
};

function withUnit(meaning: string, unit: string | null): string {
  return unit === null ? meaning : `${meaning}; unit in \`${unit}\``;
}
