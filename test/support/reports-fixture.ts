/**
 * A published file for tests of reports, made of the warehouse's own migrations and of rows that a test spells out.
 *
 * Going through the warehouse would need CSV files and hashes for every case; one test does that, the others state
 * what lies in the tables and compute the expected answer from the same rows by other means.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { ReportFilters } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import {
  openReportSession,
  type ReportRequest,
  type ReportSession,
  runReport,
} from '../../reports/report-session.ts';
import { Database } from '../../warehouse/duckdb/database.ts';
import { migrate } from '../../warehouse/duckdb/schema.ts';

export interface FixtureShipment {
  readonly tenant: string;
  readonly invoiceDate: string;
  readonly shipDate: string;
  readonly origin: string | null;
  readonly currency: string;
  /** Decimal text. */
  readonly cost: string;
  readonly weight: string | null;
  readonly unit: string | null;
  readonly tracking: string;
  readonly carrier: string;
  readonly zone: string | null;
  readonly carrierInvoiceDate: string | null;
  readonly service: string | null;
}

export interface FixtureInvoice {
  readonly id: string;
  readonly number: string;
  readonly tenant: string;
  /** undefined: made of the tenant's name. */
  readonly tenantId?: string | null;
  readonly partnerId: string | null;
  readonly level: 'tenant' | 'partner' | null;
  readonly state: 'draft' | 'finalized' | 'loaded' | 'voided' | 'needs_attention';
  readonly proof: 'hash' | 'header' | 'unproved' | null;
  readonly start: string;
  readonly end: string;
  readonly date: string;
  readonly due: string;
  readonly currency: string;
  /** null: exactly what the rows sum to. */
  readonly statedTotal: string | null;
  readonly statedShipments: number | null;
  readonly loadedAt: string;
  readonly voidedAt: string | null;
  readonly createdAt: string;
  readonly reasonCode: string | null;
  readonly reason: string | null;
  /** Earlier files of the invoice, oldest first; `shipments` is the current one. */
  readonly earlier: readonly { readonly loadedAt: string; readonly shipments: readonly FixtureShipment[] }[];
  /** Discrepancies besides those of count and total: rule, stated, found. */
  readonly differences: readonly (readonly [string, string, string])[];
  readonly shipments: readonly FixtureShipment[];
}

let serial = 0;

export function aShipment(stated: Partial<FixtureShipment> = {}): FixtureShipment {
  serial += 1;
  return {
    tenant: 'Acme',
    invoiceDate: '2026-03-10',
    shipDate: '2026-03-02',
    origin: '94107',
    currency: 'USD',
    cost: '10.0000',
    weight: '2.0000',
    unit: 'LB',
    tracking: `1Z${String(serial).padStart(9, '0')}`,
    carrier: 'ups',
    zone: '5',
    carrierInvoiceDate: '2026-03-06',
    service: 'Ground',
    ...stated,
  };
}

/** An invoice of which only what matters is stated; loaded, proved by hash, tenant level. */
export function anInvoice(
  shipments: readonly FixtureShipment[],
  stated: Partial<FixtureInvoice> = {},
): FixtureInvoice {
  serial += 1;
  return {
    id: `00000000-0000-4000-8000-${String(serial).padStart(12, '0')}`,
    number: `INV-${String(serial).padStart(5, '0')}`,
    tenant: shipments[0]?.tenant ?? 'Acme',
    partnerId: 'partner-1',
    level: 'tenant',
    state: 'loaded',
    proof: 'hash',
    start: '2026-03-01',
    end: '2026-03-08',
    date: '2026-03-10',
    due: '2026-03-25',
    currency: shipments[0]?.currency ?? 'USD',
    statedTotal: null,
    statedShipments: shipments.length,
    loadedAt: '2026-03-10T12:00:00Z',
    voidedAt: null,
    createdAt: '2026-03-09T12:00:00Z',
    reasonCode: null,
    reason: null,
    earlier: [],
    differences: [],
    shipments,
    ...stated,
  };
}

export type ReportsFixture = Awaited<ReturnType<typeof reportsFixture>>;

/**
 * @param options.publishedAt the `as of` of every report
 */
export async function reportsFixture(
  invoices: readonly FixtureInvoice[],
  options: { readonly publishedAt?: string } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-reports-'));
  const path = join(folder, 'reports.duckdb');
  empty ??= emptyFile();
  await writeFile(path, await empty);
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run("set search_path = 'main,internal'");
  const rows: Rows = new Map();
  let loadId = 0;
  for (const invoice of invoices) {
    let current: number | null = null;
    const versions = [
      ...invoice.earlier,
      ...(invoice.shipments.length > 0 ? [{ loadedAt: invoice.loadedAt, shipments: invoice.shipments }] : []),
    ];
    for (const [index, version] of versions.entries()) {
      loadId += 1;
      current = loadId;
      addLoad(rows, { invoice, version, versionNumber: index + 1, loadId });
    }
    addInvoice(rows, invoice, current, versions.length);
    if (current !== null) addDiscrepancies(rows, invoice);
  }
  addPublication(rows, options.publishedAt ?? '2026-04-01T00:00:00Z');
  await connection.run('begin');
  await insertAll(connection, rows);
  await connection.run('commit');
  connection.closeSync();
  instance.closeSync();
  const sessions = sharedSessions(path);
  return {
    ...{ path, folder, run: sessions.run },
    async remove() {
      await sessions.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Amounts as whole ten-thousandths, for expectations computed without DuckDB. */
export function tenThousandths(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.replace('-', '').split('.');
  const size = BigInt(`${whole}${fraction.padEnd(4, '0')}`);
  return decimal.startsWith('-') ? -size : size;
}

export function decimalText(size: bigint): string {
  const digits = String(size < 0n ? -size : size).padStart(5, '0');
  return `${size < 0n ? '-' : ''}${digits.slice(0, -4)}.${digits.slice(-4)}`;
}

let empty: Promise<Uint8Array> | undefined;

/** A migrated file without rows, made once for each process: a test makes many, and migrating was most of their time. */
async function emptyFile(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-empty-'));
  try {
    const path = join(folder, 'reports.duckdb');
    const database = await Database.open({ path, folders: [], temporaryFolder: folder, memoryLimit: null });
    await migrate(database, new Date('2026-03-01T00:00:00Z'));
    database.close();
    return await readFile(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function addLoad(
  rows: Rows,
  load: {
    readonly invoice: FixtureInvoice;
    readonly version: { readonly loadedAt: string; readonly shipments: readonly FixtureShipment[] };
    readonly versionNumber: number;
    readonly loadId: number;
  },
): void {
  const { invoice, version, versionNumber, loadId } = load;
  const dates = version.shipments.map((shipment) => shipment.shipDate).sort();
  const currencies = [...new Set(version.shipments.map((shipment) => shipment.currency))].sort();
  // As a load does: of the stated currency, when any row is in it.
  const currency = currencies.includes(invoice.currency)
    ? invoice.currency
    : (currencies[0] ?? invoice.currency);
  add(rows, 'loads', {
    load_id: loadId,
    invoice_id: invoice.id,
    version: versionNumber,
    file_sha256: `${versionNumber}${invoice.id.replaceAll('-', '')}`.padStart(64, 'a'),
    file_size_bytes: 1000,
    file_source: invoice.proof === 'hash' ? 'event' : 'export',
    tenant: invoice.tenant,
    shipments: version.shipments.length,
    billing_cost: decimalText(sumOf(version.shipments, currency)),
    currency_code: currency,
    currencies: currencies.join(','),
    first_ship_date: dates[0] ?? null,
    last_ship_date: dates.at(-1) ?? null,
    ends_with_line_end: true,
    loaded_at: stamp(version.loadedAt),
  });
  for (const [index, shipment] of version.shipments.entries()) {
    add(rows, 'shipment_rows', {
      load_id: loadId,
      row_number: index + 1,
      tenant: shipment.tenant,
      invoice_generation_date: shipment.invoiceDate,
      ship_date: shipment.shipDate,
      origin: shipment.origin,
      currency_code: shipment.currency,
      billing_cost: shipment.cost,
      billable_weight: shipment.weight,
      billable_weight_unit: shipment.unit,
      tracking_number: shipment.tracking,
      carrier: shipment.carrier,
      carrier_zone: shipment.zone,
      carrier_invoice_date: shipment.carrierInvoiceDate,
      service_level: shipment.service,
    });
  }
}

function addInvoice(rows: Rows, invoice: FixtureInvoice, loadId: number | null, versions: number): void {
  const isPartner = invoice.level === 'partner';
  add(rows, 'invoice_state', {
    invoice_id: invoice.id,
    state: invoice.state,
    reason_code: invoice.reasonCode,
    reason: invoice.reason,
    state_since: stamp(invoice.voidedAt ?? (loadId === null ? invoice.createdAt : invoice.loadedAt)),
    service_status: invoice.voidedAt ? 'voided' : invoice.state === 'draft' ? 'draft' : 'finalized',
    current_load_id: loadId,
    proof: loadId === null ? null : invoice.proof,
    partner_id: invoice.partnerId,
    invoice_level: invoice.level,
    tenant_id: isPartner
      ? null
      : invoice.tenantId === undefined
        ? `tenant-${invoice.tenant}`
        : invoice.tenantId,
    partner_tenant_id: isPartner ? null : invoice.tenant.toLowerCase(),
    invoice_number: invoice.number,
    invoice_start_date: `${invoice.start}T00:00:00Z`,
    invoice_end_date: `${invoice.end}T00:00:00Z`,
    invoice_date: `${invoice.date}T00:00:00Z`,
    invoice_due_date: `${invoice.due}T00:00:00Z`,
    currency_code: invoice.currency,
    stated_total: invoice.statedTotal ?? decimalText(sumOf(invoice.shipments, invoice.currency)),
    stated_shipments: invoice.statedShipments,
    first_seen_at: stamp(invoice.createdAt),
    created_at: stamp(invoice.createdAt),
    finalized_at: invoice.state === 'draft' ? null : stamp(invoice.earlier[0]?.loadedAt ?? invoice.loadedAt),
    first_loaded_at: loadId === null ? null : stamp(invoice.earlier[0]?.loadedAt ?? invoice.loadedAt),
    loaded_at: loadId === null ? null : stamp(invoice.loadedAt),
    voided_at: invoice.voidedAt === null ? null : stamp(invoice.voidedAt),
    versions,
    ...countsOf(invoice, loadId),
  });
}

/** Each version counts until the next one is loaded, the last one until the void. */
function countsOf({ earlier, loadedAt, voidedAt }: FixtureInvoice, loadId: number | null) {
  if (loadId === null) return {};
  const loads = [...earlier.map((version) => version.loadedAt), loadedAt];
  const instants = [...loads, ...(voidedAt === null ? [] : [voidedAt])].map(stamp);
  const past = instants.slice(0, -1).map((since, index) => ({
    ...{ load_id: loadId - earlier.length + index, voided_at: null },
    ...{ since, until: instants[index + 1] },
  }));
  return { counts_since: instants.at(-1) ?? null, past_counts: JSON.stringify(past) };
}

function addDiscrepancies(rows: Rows, invoice: FixtureInvoice): void {
  const total = decimalText(sumOf(invoice.shipments, invoice.currency));
  const found: (readonly [string, string, string])[] = [...invoice.differences];
  if (invoice.statedShipments !== null && invoice.statedShipments !== invoice.shipments.length) {
    found.push(['shipment-count', String(invoice.statedShipments), String(invoice.shipments.length)]);
  }
  if (invoice.statedTotal !== null && tenThousandths(invoice.statedTotal) !== tenThousandths(total)) {
    found.push(['total-amount', invoice.statedTotal, total]);
  }
  for (const [rule, stated, actual] of found) {
    add(rows, 'discrepancy_lines', {
      invoice_id: invoice.id,
      rule,
      stated,
      found: actual,
      recorded_at: stamp(invoice.loadedAt),
    });
  }
}

function addPublication(rows: Rows, publishedAt: string): void {
  add(rows, 'publication_log', {
    sequence: 7,
    published_at: stamp(publishedAt),
    invoices: 0,
    loaded_invoices: 0,
    shipments: 0,
    events: 0,
  });
}

/** By table. Every value but a number and a truth value is text, which DuckDB casts to the column's type. */
type Rows = Map<string, Readonly<Record<string, string | number | boolean | null>>[]>;

function add(
  rows: Rows,
  table: string,
  row: Readonly<Record<string, string | number | boolean | null>>,
): void {
  const known = rows.get(table) ?? [];
  rows.set(table, known);
  known.push(row);
}

/** One statement for each table: one for each row was most of what a fixture cost. All rows of a table have the same columns. */
async function insertAll(connection: DuckDBConnection, rows: Rows): Promise<void> {
  for (const [table, all] of rows) {
    const shape = JSON.stringify([
      Object.fromEntries(Object.keys(all[0] ?? {}).map((name) => [name, 'VARCHAR'])),
    ]);
    await connection.run(
      `insert into ${table} by name select unnest(from_json($rows, '${shape}'), max_depth := 2)`,
      { rows: JSON.stringify(all) },
    );
  }
}

function sumOf(shipments: readonly FixtureShipment[], currency: string): bigint {
  return shipments
    .filter((shipment) => shipment.currency === currency)
    .reduce((sum, shipment) => sum + tenThousandths(shipment.cost), 0n);
}

function stamp(instant: string): string {
  return new Date(instant).toISOString().replace('T', ' ').replace('Z', '');
}

/** For a whole session, which here lasts as long as a test file. */
const TIME_LIMIT_MS = 600_000;

/** @param databasePath `reports.duckdb`; a session opens it when the first report with its filters runs */
export function sharedSessions(databasePath: string) {
  const opened = new Map<string, Promise<ReportSession>>();
  return {
    /** Runs a report in a session that all calls with equal filters share. */
    async run(
      name: string,
      filters: ReportFilters = {},
      parameters: Readonly<Record<string, string>> = {},
    ): Promise<ReportResult> {
      const key = JSON.stringify(filters);
      const session =
        opened.get(key) ?? openReportSession({ databasePath, filters, timeLimitMs: TIME_LIMIT_MS });
      opened.set(key, session);
      return (await session).run(name, parameters);
    },
    async close() {
      for (const session of opened.values()) (await session).close();
      opened.clear();
    },
  };
}

export async function runReportOn(
  name: string,
  invoices: readonly FixtureInvoice[],
  request: Omit<Partial<ReportRequest>, 'name' | 'databasePath'> & { readonly publishedAt?: string } = {},
): Promise<ReportResult> {
  const { publishedAt, ...rest } = request;
  const fixture = await reportsFixture(invoices, publishedAt === undefined ? {} : { publishedAt });
  try {
    return await runReport({ databasePath: fixture.path, name, ...rest });
  } finally {
    await fixture.remove();
  }
}

export function cells(result: ReportResult, ...names: readonly string[]): unknown[][] {
  return result.rows.map((row) => names.map((name) => row[name]));
}
