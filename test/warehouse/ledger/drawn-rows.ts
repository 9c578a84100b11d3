/** Rows of the ledger's tables, drawn without regard to what can occur together, for statements that list or trace them. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { runOnFile, type TestWarehouse } from '../support.ts';

const SECOND = 1_000;
export const DAY = 86_400 * SECOND;
export const BEGIN = Date.parse('2026-03-10T12:30:00.000Z');

const near = (...days: readonly number[]) =>
  fc.constantFrom(...days.flatMap((day) => [-SECOND, 0, SECOND].map((by) => day * DAY + by)));
/** Around the limits of days and weeks. */
const offset = fc.oneof({ weight: 3, arbitrary: near(0, 1) }, near(6, 7, 8, 14, 15, 20, 21, 60));
const instant = offset.map((ms) => new Date(BEGIN + ms).toISOString());
const orNull = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { freq: 2 });
/** Of a few, so that they meet. */
const hash = fc.constantFrom(...['a', 'b', 'c', 'd'].map((letter) => letter.repeat(64)));
export const PARTNER = '0b0b0b0b-0000-4000-8000-000000000001';

const load = fc.record({
  ...{ file_sha256: hash, announced_sha256: orNull(hash), encoded_sha256: orNull(hash), loaded_at: instant },
  file_source: fc.constantFrom('event', 'regenerate', 'export', 'file'),
  ...{ shipments: fc.integer({ min: 1, max: 3 }), billing_cost: fc.constantFrom('1.5000', '-2.0000') },
  is_damaged: orNull(fc.boolean()),
  event: orNull(fc.nat({ max: 3 })),
  tracking_number: fc.constantFrom('T1', 'T2'),
});
const invoice = fc.record({
  invoice_id: fc.uuid({ version: 4 }),
  state: fc.constantFrom('draft', 'finalized', 'loaded', 'loaded', 'voided', 'needs_attention'),
  reason_code: orNull(fc.constantFrom('csv-rejected', 'delivery-refused', 'url-refused')),
  ...{
    state_since: instant,
    first_seen_at: instant,
    restored_at: orNull(instant),
    voided_at: orNull(instant),
  },
  proof: orNull(fc.constantFrom('announced', 'hash', 'header')),
  void_basis: orNull(fc.constantFrom('event', 'details', 'unknown', 'foreign')),
  partner_id: orNull(fc.constant(PARTNER)),
  invoice_number: orNull(
    fc.constantFrom('N1', 'N2', 'N3', 'N4', ...Array.from({ length: 90 }, (_, n) => `R${n}`)),
  ),
  invoice_date: orNull(fc.constantFrom('2026-03-09T00:00:00Z', '2026-03-01', '2026-02-20T23:59:59+01:00')),
  ...{ stated_total: orNull(fc.constant('1.50')), stated_shipments: orNull(fc.constant(2)) },
  tenant_id: orNull(fc.constant('t')),
  last_version: fc.nat({ max: 2 }),
  /** Of the loads, the one that counts; null: none. */
  current: orNull(fc.nat({ max: 1 })),
  loads: fc.uniqueArray(load, { maxLength: 2, selector: ({ file_sha256 }) => file_sha256 }),
  checked_at: orNull(instant),
  events: fc.array(
    fc.record({
      ...{ announced_sha256: orNull(hash), is_unchecked: fc.boolean(), received_at: instant },
      verdict: fc.constantFrom('accepted', 'accepted', 'test'),
    }),
    { maxLength: 3 },
  ),
  named: fc.array(fc.record({ file_sha256: hash, kind: fc.constantFrom('hash', 'version') }), {
    maxLength: 2,
  }),
  had: fc.array(
    fc.record({ file_sha256: hash, came_from: orNull(fc.constantFrom('x', 'y')), recorded_at: instant }),
    {
      maxLength: 2,
    },
  ),
  rule: orNull(fc.constantFrom('unknown-status', 'total-amount')),
});
type Invoice = typeof invoice extends fc.Arbitrary<infer T> ? T : never;

export interface LoadRow {
  readonly load_id: number;
  readonly version: number;
  readonly of: Invoice['loads'][number];
  readonly event_id: string | null;
}
export interface EventRow {
  readonly event_id: string;
  readonly of: Invoice['events'][number];
}
export interface InvoiceRow extends Omit<Invoice, 'loads' | 'events' | 'current'> {
  readonly loads: readonly LoadRow[];
  readonly events: readonly EventRow[];
  readonly current: LoadRow | null;
}

/** Another choice in each run; a failure prints it. */
export function drawRows(count: number, seed = Date.now() & 0x7f_ff_ff_ff): readonly InvoiceRow[] {
  process.stdout.write(`drawn rows: seed ${seed}\n`);
  let loadId = 0;
  return fc.sample(invoice, { numRuns: count, seed }).map((drawn, n) => {
    const events = drawn.events.map((of, at) => ({ event_id: `e-${n}-${at}`, of }));
    const loads = drawn.loads.map((of, at) => {
      loadId += 1;
      return { load_id: loadId, version: at + 1, of, event_id: events[of.event ?? 9]?.event_id ?? null };
    });
    return { ...drawn, events, loads, current: loads[drawn.current ?? 9] ?? null };
  });
}

/** Puts the rows into the tables of a warehouse that has none. */
export async function store(t: TestWarehouse, invoices: readonly InvoiceRow[]): Promise<void> {
  const tables: Readonly<Record<string, readonly object[]>> = {
    invoice_state: invoices.map(
      ({ loads, events: _, current, checked_at: __, named, had: _h, rule: _r, ...row }) => ({
        ...row,
        ...{ current_load_id: current?.load_id ?? null, versions: loads.length },
        attention_lines: named.length,
      }),
    ),
    loads: invoices.flatMap(({ invoice_id, loads }) =>
      loads.map(({ load_id, version, event_id, of }) => {
        const { event: _, tracking_number: __, ...row } = of;
        const rest = {
          file_size_bytes: 7,
          currency_code: 'USD',
          currencies: 'USD',
          ends_with_line_end: true,
        };
        return { ...row, ...rest, load_id, version, event_id, invoice_id, workflow_run_id: `run-${load_id}` };
      }),
    ),
    shipment_rows: invoices.flatMap(({ loads }) =>
      loads.flatMap(({ load_id, of }) =>
        Array.from({ length: of.shipments }, (_, n) => n + 1).map((row_number) => ({
          ...{ load_id, row_number, tenant: 'Acme', carrier: 'UPS', currency_code: 'USD' },
          ...{
            invoice_generation_date: '2026-03-01',
            ship_date: '2026-03-01',
            billing_cost: of.billing_cost,
          },
          tracking_number: row_number === 1 ? of.tracking_number : 'other',
        })),
      ),
    ),
    event_ledger: invoices.flatMap(({ invoice_id, events }) =>
      events.map(({ event_id, of }) => ({ ...of, event_id, invoice_id, event_timestamp: of.received_at })),
    ),
    attention_ledger: invoices.flatMap(({ invoice_id, named }) =>
      named.map((line) => ({
        ...line,
        invoice_id,
        is_open: true,
        recorded_at: new Date(BEGIN).toISOString(),
      })),
    ),
    file_ledger: invoices.flatMap(({ invoice_id, had }) =>
      had.map((line) => ({ ...line, invoice_id, file_size_bytes: 7, file_source: 'event' })),
    ),
    discrepancy_lines: invoices.flatMap(({ invoice_id, rule }) =>
      rule === null
        ? []
        : [{ invoice_id, rule, stated: '', found: '', recorded_at: new Date(BEGIN).toISOString() }],
    ),
    service_checks: invoices.flatMap(({ invoice_id, checked_at }) =>
      checked_at === null ? [] : [{ invoice_id, checked_at }],
    ),
  };
  await t.warehouse.close();
  const filled = Object.entries(tables).filter(([, rows]) => rows.length > 0);
  const statements = filled.map(([table, rows]) => {
    const path = join(t.dataDir, `${table}.ndjson`);
    // Instants without a zone, which a cast would convert.
    const text = rows.map((row) => JSON.stringify(row).replace(/(\d)Z"/g, '$1"'));
    writeFileSync(path, text.join('\n'));
    return `insert into internal.${table} by name select * from read_json('${path}', format = 'newline_delimited')`;
  });
  await runOnFile(join(t.dataDir, 'warehouse.duckdb'), ...statements);
  await t.reopen();
}
