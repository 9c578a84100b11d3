/** The views that other tools read, over drawn rows of the ledgers, against what their comments say. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  costOf,
  drawRows,
  type InvoiceRow,
  type LoadRow,
  OTHER_PARTNER,
  PARTNER,
  store,
} from '../ledger/drawn-rows.ts';
import { aWarehouse, type TestWarehouse } from '../support.ts';

const day = (text: string | null): string | null => text?.slice(0, 10) ?? null;
const compare = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : 1);
/** Instants as ISO text, so that the session's zone changes nothing. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d [\d:.]+[+-]\d\d/.test(value)) return value;
  const [, date, time, zone = ''] = /^(\S+) ([\d:.]+)(.*)$/.exec(value) ?? [];
  return new Date(`${date}T${time}${zone.includes(':') ? zone : `${zone}:00`}`).toISOString();
}
const byText = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort();

interface Line {
  readonly row: InvoiceRow;
  readonly load: LoadRow;
  readonly cells: LoadRow['of']['rows'][number];
}

describe.each([
  ['several partners', false],
  ['one partner', true],
])('of %s', (_, isOne) => {
  let t: TestWarehouse;
  const rows = drawRows(250).map(
    (row): InvoiceRow => (isOne && row.partner_id === OTHER_PARTNER ? { ...row, partner_id: PARTNER } : row),
  );
  /** An invoice of an unknown partner is of the only one, if there is one. */
  const owner = ({ partner_id }: InvoiceRow) => partner_id ?? (isOne ? PARTNER : null);
  const levelOf = ({ invoice_level }: InvoiceRow): string => invoice_level ?? 'unknown';
  const counted: Line[] = rows.flatMap((row) => {
    const load = row.current;
    if (load === null || row.voided_at !== null) return [];
    return load.of.rows.map((cells) => ({ row, load, cells }));
  });
  const ofTenants = counted.filter(({ row }) => row.invoice_level !== 'partner');

  beforeAll(async () => {
    t = await aWarehouse();
    await store(t, rows);
  });
  afterAll(() => t.close());

  async function expectView(query: string, expected: readonly object[]): Promise<void> {
    const found = await t.query(query);
    const values = found.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
    );
    expect(byText(values)).toEqual(byText(expected));
  }

  test('invoices has each invoice with its load and what is stated', async () => {
    await expectView(
      `select invoice_id, invoice_number, partner_invoice_id, invoice_level, tenant, tenant_id, partner_tenant_id, partner_id,
         state, reason_code, reason, state_since, service_status, invoice_start_date, invoice_end_date, invoice_date,
         invoice_due_date, currency_code, stated_total_amount, stated_total_text, stated_shipments, billing_cost, shipments,
         currencies, proof, discrepancies::integer as discrepancies, discrepancy_rules, version, versions, file_sha256, file_size_bytes,
         file_source, first_ship_date, last_ship_date, load_id, event_id, workflow_run_id, first_seen_at, created_at,
         finalized_at, first_loaded_at, loaded_at, voided_at, attention_at, resolved_at, stated_currency_code, void_basis, restored_at
       from invoices`,
      rows.map((row) => {
        const load = row.current;
        const dates = load?.of.rows.map(({ ship_date }) => ship_date).sort() ?? [];
        return {
          ...{ invoice_id: row.invoice_id, invoice_number: row.invoice_number },
          ...{ partner_invoice_id: row.partner_invoice_id, invoice_level: levelOf(row) },
          ...{ tenant: load?.of.tenant ?? null, tenant_id: row.tenant_id },
          ...{ partner_tenant_id: row.partner_tenant_id, partner_id: owner(row) },
          ...{ state: row.state, reason_code: row.reason_code, reason: row.reason },
          ...{ state_since: row.state_since, service_status: row.service_status },
          ...{ invoice_start_date: day(row.invoice_start_date), invoice_end_date: day(row.invoice_end_date) },
          ...{ invoice_date: day(row.invoice_date), invoice_due_date: day(row.invoice_due_date) },
          currency_code: load?.currencies[0] ?? row.currency_code,
          stated_total_amount: row.stated_total === null ? null : '1.5000',
          ...{
            stated_total_text: row.stated_total,
            stated_shipments: row.stated_shipments?.toString() ?? null,
          },
          ...{ billing_cost: load?.billing_cost ?? null, shipments: load?.shipments.toString() ?? null },
          ...{ currencies: load?.currencies.join(',') ?? null, proof: row.proof },
          ...{ discrepancies: row.rules.length, discrepancy_rules: row.rules.toSorted().join(', ') || null },
          ...{ version: load?.version ?? null, versions: row.loads.length },
          ...{ file_sha256: load?.of.file_sha256 ?? null, file_size_bytes: load === null ? null : '7' },
          ...{ file_source: load?.of.file_source ?? null },
          ...{ first_ship_date: dates[0] ?? null, last_ship_date: dates.at(-1) ?? null },
          ...{ load_id: load?.load_id ?? null, event_id: load?.event_id ?? row.event_id },
          workflow_run_id: load === null ? null : `run-${load.load_id}`,
          ...{ first_seen_at: row.first_seen_at, created_at: row.created_at, finalized_at: row.finalized_at },
          ...{ first_loaded_at: row.first_loaded_at, loaded_at: row.loaded_at, voided_at: row.voided_at },
          ...{ attention_at: row.attention_at, resolved_at: row.resolved_at },
          ...{
            stated_currency_code: row.currency_code,
            void_basis: row.void_basis,
            restored_at: row.restored_at,
          },
        };
      }),
    );
  });

  test('shipments and shipment_versions have the rows that count, and all rows', async () => {
    const cells =
      'invoice_id, invoice_level, tenant, partner_id, tracking_number, currency_code, billing_cost, loaded_at';
    const line = ({ row, load, cells: of }: Line) => ({
      ...{
        invoice_id: row.invoice_id,
        invoice_level: levelOf(row),
        tenant: load.of.tenant,
        partner_id: owner(row),
      },
      ...{ tracking_number: of.tracking_number, currency_code: of.currency_code },
      ...{ billing_cost: (of.cost / 100).toFixed(4), loaded_at: load.of.loaded_at },
    });
    await expectView(`select ${cells} from shipments`, counted.map(line));
    const all = rows.flatMap((row) =>
      row.loads.flatMap((load) => load.of.rows.map((of): Line => ({ row, load, cells: of }))),
    );
    await expectView(
      `select ${cells}, version, is_current, voided_at from shipment_versions`,
      all.map((each) => {
        const { row, load } = each;
        return {
          ...line(each),
          version: load.version,
          is_current: row.current === load,
          voided_at: row.voided_at,
        };
      }),
    );
    await expectView(
      `select invoice_id, tracking_number, zone, ship_month, invoice_month from tenant_shipments`,
      ofTenants.map(({ row, cells: of }) => ({
        ...{ invoice_id: row.invoice_id, tracking_number: of.tracking_number, zone: of.carrier_zone },
        ...{ ship_month: of.ship_date.slice(0, 7), invoice_month: '2026-03' },
      })),
    );
    const packages = new Set(
      ofTenants.map(({ row, cells: of }) => [owner(row), of.carrier, of.tracking_number].join()),
    );
    const query = 'select count(*)::integer as n from tenant_shipments where is_package';
    await expectView(query, [{ n: packages.size }]);
  });

  test('invoice_amounts has a sum for each currency of an invoice that counts', async () => {
    const sums = [
      ...Map.groupBy(counted, ({ row, cells }) => `${row.invoice_id} ${cells.currency_code}`).values(),
    ];
    await expectView(
      'select invoice_id, invoice_level, tenant, partner_id, currency_code, shipments, billing_cost from invoice_amounts',
      sums.flatMap((lines) =>
        lines.slice(0, 1).map(({ row, load, cells }) => ({
          ...{ invoice_id: row.invoice_id, invoice_level: levelOf(row), tenant: load.of.tenant },
          ...{ partner_id: owner(row), currency_code: cells.currency_code, shipments: `${lines.length}` },
          billing_cost: costOf(lines.map(({ cells: of }) => of)),
        })),
      ),
    );
  });

  test('tenants and partners have the names of their latest invoices', async () => {
    const latest = (of: readonly InvoiceRow[], at: (row: InvoiceRow) => string | null) =>
      of
        .toSorted((a, b) =>
          compare(
            [a.invoice_date ?? '', at(a) ?? '', a.invoice_id].join('\t'),
            [b.invoice_date ?? '', at(b) ?? '', b.invoice_id].join('\t'),
          ),
        )
        .at(-1);
    const billed = rows.filter(
      ({ invoice_level, tenant_id, current }) =>
        invoice_level !== 'partner' && (tenant_id !== null || current !== null),
    );
    const keyOf = (row: InvoiceRow): string =>
      row.tenant_id ?? `${owner(row)} "${row.current?.of.tenant ?? ''}`;
    const groups = Map.groupBy(billed, (row) => JSON.stringify([keyOf(row), owner(row)]));
    const named = Map.groupBy(billed, keyOf);
    const query = `select partner_id, tenant_id, tenant, partner_tenant_id, to_json(names)::varchar as names, invoices from tenants`;
    await expectView(
      query,
      [...groups.values()].flatMap((of) => {
        const [first] = of;
        if (first === undefined) return [];
        const all = named.get(keyOf(first)) ?? [];
        const loaded = all.filter(({ current }) => current !== null);
        const names = [...new Set(loaded.map(({ current }) => current?.of.tenant))].sort(compare);
        const referred = all.filter(({ partner_tenant_id }) => partner_tenant_id !== null);
        return [
          {
            ...{ partner_id: owner(first), tenant_id: first.tenant_id },
            tenant: latest(loaded, ({ loaded_at }) => loaded_at ?? '~')?.current?.of.tenant ?? null,
            partner_tenant_id:
              latest(referred, ({ first_seen_at }) => first_seen_at)?.partner_tenant_id ?? null,
            ...{ names: names.length === 0 ? null : JSON.stringify(names), invoices: `${of.length}` },
          },
        ];
      }),
    );
    const ofPartners = Map.groupBy(rows, owner);
    await expectView(
      'select partner_id, partner, tenants, invoices from partners',
      [...ofPartners].map(([partner_id, of]) => {
        const own = of.filter(
          ({ invoice_level, current }) => invoice_level === 'partner' && current !== null,
        );
        const ids = new Set(of.flatMap(({ tenant_id }) => tenant_id ?? []));
        const partner = latest(own, ({ loaded_at }) => loaded_at ?? '~')?.current?.of.tenant ?? null;
        return { partner_id, partner, tenants: `${ids.size}`, invoices: `${of.length}` };
      }),
    );
  });

  test('carriers has a row for the spellings of each carrier, named as on most lines', async () => {
    const groups = Map.groupBy(ofTenants, ({ row, cells }) => `${owner(row)} ${cells.carrier.toLowerCase()}`);
    await expectView(
      `select partner_id, carrier, to_json(names)::varchar as names, to_json(service_levels)::varchar as services, shipments,
         first_ship_date, last_ship_date from carriers`,
      [...groups.values()].flatMap((lines) => {
        const spellings = Map.groupBy(lines, ({ cells }) => cells.carrier);
        const [most] = [...spellings].sort(
          ([one, a], [other, b]) => b.length - a.length || compare(other, one),
        );
        const services = [...new Set(lines.flatMap(({ cells }) => cells.service_level ?? []))].sort();
        const dates = lines.map(({ cells }) => cells.ship_date).sort();
        return lines.slice(0, 1).map(({ row }) => ({
          ...{
            partner_id: owner(row),
            carrier: most?.[0],
            names: JSON.stringify([...spellings.keys()].sort()),
          },
          ...{ services: JSON.stringify(services), shipments: `${lines.length}` },
          ...{ first_ship_date: dates[0], last_ship_date: dates.at(-1) },
        }));
      }),
    );
  });

  test('files has each file of an invoice once, with where it came from and its load', async () => {
    await expectView(
      `select file_sha256, invoice_id, file_source, first_had_at, times_had::integer as times_had, load_id, version, shipments, billing_cost,
         currency_code, loaded_at, is_current, partner_id from files`,
      rows.flatMap((row) => {
        const hashes = new Set([
          ...row.had.map(({ file_sha256 }) => file_sha256),
          ...row.loads.map(({ of }) => of.file_sha256),
        ]);
        return [...hashes].map((hash) => {
          const had = row.had.filter(({ file_sha256 }) => file_sha256 === hash);
          const load = row.loads.find(({ of }) => of.file_sha256 === hash);
          const first = had.map(({ recorded_at }) => recorded_at).sort()[0];
          return {
            ...{ file_sha256: hash, invoice_id: row.invoice_id },
            file_source: had.length > 0 ? 'event' : load?.of.file_source,
            ...{ first_had_at: first ?? load?.of.loaded_at, times_had: had.length },
            ...{ load_id: load?.load_id ?? null, version: load?.version ?? null },
            ...{ shipments: load?.shipments.toString() ?? null, billing_cost: load?.billing_cost ?? null },
            ...{ currency_code: load?.currencies[0] ?? null, loaded_at: load?.of.loaded_at ?? null },
            ...{ is_current: load !== undefined && row.current === load, partner_id: owner(row) },
          };
        });
      }),
    );
  });

  test('publication counts what is stored', async () => {
    const loaded = rows.flatMap(({ current, voided_at }) => (voided_at === null ? (current ?? []) : []));
    const events = rows.flatMap((row) => row.events.map(({ of }) => of.received_at));
    const sum = (of: readonly number[]): number => of.reduce((a, b) => a + b, 0);
    await expectView(
      `select invoices::integer as invoices, loaded_invoices::integer as loaded, shipments::integer as shipments,
         events::integer as events, last_event_received_at from publication`,
      [
        {
          ...{ invoices: rows.length, loaded: loaded.length },
          ...{ shipments: sum(loaded.map(({ shipments }) => shipments)), events: events.length },
          last_event_received_at: events.sort().at(-1),
        },
      ],
    );
  });

  test('discrepancies names the invoice of each', async () => {
    await expectView(
      'select invoice_id, rule, partner_id from discrepancies',
      rows.flatMap((row) =>
        row.rules.map((rule) => ({ invoice_id: row.invoice_id, rule, partner_id: owner(row) })),
      ),
    );
  });

  test('level_cross_check compares each shipment of tenants with that of the partner', async () => {
    const keyOf = ({ row, cells }: Line): string =>
      [owner(row), cells.tracking_number, cells.carrier, cells.ship_date, cells.currency_code].join('\t');
    const partners = Map.groupBy(
      counted.filter(({ row }) => row.invoice_level === 'partner'),
      keyOf,
    );
    const tenants = Map.groupBy(ofTenants, keyOf);
    await expectView(
      `select tracking_number, carrier, ship_date, currency_code, tenant, tenant_charges, partner_charges,
         tenant_billing_cost, partner_billing_cost, verdict, partner_id from level_cross_check`,
      [...new Set([...partners.keys(), ...tenants.keys()])].map((key) => {
        const [one, other] = [tenants.get(key) ?? [], partners.get(key) ?? []];
        const any = (one[0] ?? other[0]) as Line;
        const sum = (lines: readonly Line[]) =>
          lines.length === 0 ? null : costOf(lines.map(({ cells }) => cells));
        const isEqual = one.length === other.length && sum(one) === sum(other);
        const { tracking_number, carrier, ship_date, currency_code } = any.cells;
        return {
          ...{ tracking_number, carrier, ship_date, currency_code },
          tenant: one.map(({ load }) => load.of.tenant).sort(compare)[0] ?? null,
          ...{ tenant_charges: `${one.length}`, partner_charges: `${other.length}` },
          ...{ tenant_billing_cost: sum(one), partner_billing_cost: sum(other) },
          verdict:
            other.length === 0
              ? 'only-tenant'
              : one.length === 0
                ? 'only-partner'
                : isEqual
                  ? 'equal'
                  : 'differs',
          partner_id: owner(any.row),
        };
      }),
    );
  });
});
