/** Statements of a lake's ledgers that are a line each, by name; longer ones are the files of `ledger/`. */

import type { Row } from '../duckdb/statements.ts';

export const SHORT_STATEMENTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // Locks: of a transaction, held until it ends, or of a session, until they are given back or the connection ends.
    lock: 'select pg_advisory_xact_lock($class::integer, $key::integer)',
    'lock-shared': 'select pg_advisory_xact_lock_shared($class::integer, $key::integer)',
    'try-lock': 'select pg_try_advisory_xact_lock($class::integer, $key::integer) as is_mine',
    'lock-session': 'select pg_advisory_lock($class::integer, $key::integer)',
    'stay-shared': 'select pg_advisory_lock_shared($class::integer, $key::integer)',
    'try-lock-session': 'select pg_try_advisory_lock($class::integer, $key::integer) as is_mine',
    'unlock-session': 'select pg_advisory_unlock($class::integer, $key::integer)',
    // Which generation counts.
    'create-pointer-schema': 'create schema if not exists billsync',
    'claim-pointer':
      'insert into billsync.warehouse (environment, generation) values ($environment, 1) on conflict do nothing',
    'read-pointer': 'select environment, generation from billsync.warehouse',
    'move-pointer': 'update billsync.warehouse set generation = $generation::integer',
    // Lines of events and facts, and the rows of invoices that are derived of them: forgotten and inserted, as over one file.
    'insert-attention': inserted('attention_ledger', 'facts'),
    'insert-details': inserted('details_ledger', 'facts'),
    'insert-duplicates': inserted('duplicate_ledger', 'facts'),
    'insert-files': inserted('file_ledger', 'facts'),
    'insert-states': inserted('invoice_state', 'states'),
    'delete-states':
      'delete from invoice_state where invoice_id = any(list($invoice_ids)::uuid[]) and $places::text is not null',
    'delete-discrepancies':
      'delete from discrepancy_lines where invoice_id = any(list($invoice_ids)::uuid[])',
    'insert-discrepancies': inserted('discrepancy_lines', 'discrepancies'),
    'delete-service-checks':
      'delete from service_checks where invoice_id in (select (jsonb_array_elements_text($invoice_ids::jsonb))::uuid)',
    // Found by their key.
    'known-events':
      'select event_id, verdict from event_ledger where event_id in (select json_array_elements_text($event_ids::json))',
    'insert-cursor':
      'insert into ingest_cursors values ($stream, $position) on conflict (stream) do update set position = excluded.position',
    // Loads, and the publications of which they are part.
    'known-of-loads': 'select load_id from loads where load_id = any(list($load_ids)::integer[])',
    'next-load-id': "select nextval('load_ids')::integer as load_id",
    'mark-recorded': 'update loads set is_recorded = true where load_id = $load_id::integer',
    // Of a lake that is being made: the archive told of all its loads.
    'mark-all-recorded': 'update loads set is_recorded = true where not is_recorded',
    'last-sequence': 'select coalesce(max(sequence), 0) as sequence from publication_log',
  }),
);

/** What only a single file has to be asked or told: the answer of its statement for a lake, of which PostgreSQL is not asked. */
export const UNASKED: ReadonlyMap<string, readonly Row[]> = new Map([
  // Events are found by their key in the ledger itself.
  ['are-events-known', [{}]],
  // Two writers meet at the keys of the ledgers.
  ['claim-events', []],
  ['claim-invoices', []],
]);

/** Rows from JSON, each value to the column of its name. */
function inserted(table: string, param: string): string {
  return `insert into ${table} select * from json_populate_recordset(null::${table}, $${param}::json)`;
}
