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
export const OTHER_PARTNER = '0b0b0b0b-0000-4000-8000-000000000002';

const shipment = fc.record({
  ...{ tracking_number: fc.constantFrom('T1', 'T2', 'T3'), carrier: fc.constantFrom('UPS', 'ups', 'FedEx') },
  currency_code: fc.constantFrom('USD', 'USD', 'EUR'),
  /** In hundredths. */
  cost: fc.constantFrom(150, -200, 0, 150),
  ...{ service_level: orNull(fc.constantFrom('Ground', 'Air')), carrier_zone: orNull(fc.constant('5')) },
  ship_date: fc.constantFrom('2026-03-01', '2026-03-02', '2025-12-31'),
});
const load = fc.record({
  ...{ file_sha256: hash, announced_sha256: orNull(hash), encoded_sha256: orNull(hash), loaded_at: instant },
  file_source: fc.constantFrom('event', 'regenerate', 'export', 'file'),
  rows: fc.array(shipment, { minLength: 1, maxLength: 3 }),
  tenant: fc.constantFrom('Acme', 'Beta', 'Zoë'),
  is_damaged: orNull(fc.boolean()),
  event: orNull(fc.nat({ max: 3 })),
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
  partner_id: orNull(fc.constantFrom(PARTNER, PARTNER, OTHER_PARTNER)),
  invoice_number: orNull(
    fc.constantFrom('N1', 'N2', 'N3', 'N4', ...Array.from({ length: 90 }, (_, n) => `R${n}`)),
  ),
  invoice_date: orNull(fc.constantFrom('2026-03-09T00:00:00Z', '2026-03-01', '2026-02-20T23:59:59+01:00')),
  ...{ stated_total: orNull(fc.constant('1.50')), stated_shipments: orNull(fc.constant(2)) },
  invoice_level: orNull(fc.constantFrom('tenant', 'partner')),
  ...{ tenant_id: orNull(fc.constantFrom('t1', 't2')), partner_tenant_id: orNull(fc.constantFrom('a', 'b')) },
  ...{ created_at: orNull(instant), finalized_at: orNull(instant), first_loaded_at: orNull(instant) },
  ...{ loaded_at: orNull(instant), attention_at: orNull(instant), resolved_at: orNull(instant) },
  ...{ currency_code: orNull(fc.constant('USD')), reason: orNull(fc.constant('why')) },
  service_status: orNull(fc.constantFrom('draft', 'voided')),
  ...{
    invoice_start_date: orNull(fc.constant('2026-02-01T00:00:00Z')),
    invoice_end_date: orNull(fc.constant('2026-02-28')),
  },
  ...{ invoice_due_date: orNull(fc.constant('2026-03-15')), partner_invoice_id: orNull(fc.constant('PI')) },
  event_id: orNull(fc.constant('e-own')),
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
  rules: fc.shuffledSubarray(['unknown-status', 'total-amount', 'announced-hash', 'announced-size']),
});
type Invoice = typeof invoice extends fc.Arbitrary<infer T> ? T : never;

export interface LoadRow {
  readonly load_id: number;
  readonly shipments: number;
  /** Those of its rows; the first one has the sum. */
  readonly currencies: readonly string[];
  readonly billing_cost: string;
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

/** The exact sum as decimal text. */
export function costOf(rows: readonly { readonly cost: number }[]): string {
  return (rows.reduce((sum, { cost }) => sum + cost, 0) / 100).toFixed(4);
}

/** Another choice in each run; a failure prints it. */
export function drawRows(count: number, seed = Date.now() & 0x7f_ff_ff_ff): readonly InvoiceRow[] {
  process.stdout.write(`drawn rows: seed ${seed}\n`);
  let loadId = 0;
  return fc.sample(invoice, { numRuns: count, seed }).map((drawn, n) => {
    const events = drawn.events.map((of, at) => ({ event_id: `e-${n}-${at}`, of }));
    const loads = drawn.loads.map((of, at): LoadRow => {
      loadId += 1;
      const currencies = [...new Set(of.rows.map(({ currency_code }) => currency_code))].sort();
      const event_id = events[of.event ?? 9]?.event_id ?? null;
      const billing_cost = costOf(of.rows.filter(({ currency_code }) => currency_code === currencies[0]));
      return {
        ...{ load_id: loadId, version: at + 1, of, event_id },
        shipments: of.rows.length,
        currencies,
        billing_cost,
      };
    });
    return { ...drawn, events, loads, current: loads[drawn.current ?? 9] ?? null };
  });
}

/** Puts the rows into the tables of a warehouse that has none. */
export async function store(t: TestWarehouse, invoices: readonly InvoiceRow[]): Promise<void> {
  const tables: Readonly<Record<string, readonly object[]>> = {
    invoice_state: invoices.map(
      ({ loads, events: _, current, checked_at: __, named, had: _h, rules: _r, ...row }) => ({
        ...row,
        ...{ current_load_id: current?.load_id ?? null, versions: loads.length },
        attention_lines: named.length,
      }),
    ),
    loads: invoices.flatMap(({ invoice_id, loads }) =>
      loads.map(({ load_id, version, event_id, shipments, currencies, billing_cost, of }) => {
        const { event: _, rows, ...row } = of;
        const dates = rows.map(({ ship_date }) => ship_date).sort();
        return {
          ...row,
          ...{ load_id, version, event_id, invoice_id, shipments, billing_cost, file_size_bytes: 7 },
          ...{ currency_code: currencies[0], currencies: currencies.join(','), ends_with_line_end: true },
          ...{ first_ship_date: dates[0], last_ship_date: dates.at(-1), workflow_run_id: `run-${load_id}` },
        };
      }),
    ),
    shipment_rows: invoices.flatMap(({ loads }) =>
      loads.flatMap(({ load_id, of: { rows, tenant } }) =>
        rows.map(({ cost, ...cells }, n) => ({
          ...{ ...cells, load_id, tenant, row_number: n + 1, billing_cost: (cost / 100).toFixed(4) },
          invoice_generation_date: '2026-03-01',
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
    discrepancy_lines: invoices.flatMap(({ invoice_id, rules }) =>
      rules.map((rule) => ({
        invoice_id,
        rule,
        stated: `s ${rule}`,
        found: `f ${rule}`,
        recorded_at: new Date(BEGIN).toISOString(),
      })),
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
