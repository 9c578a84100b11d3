/** A real warehouse over a real archive in a folder of its own, and builders for files and events. */

import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { stringify } from 'csv-stringify/sync';
import { pino } from 'pino';
import type { ArchivedEvent } from '../../archive/archive.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import type { LoadOutcome, LoadRequest } from '../../lib/warehouse-requests.ts';
import { type ArchivedFile, CSV_HEADERS, type CsvHeader } from '../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../lib/wire/csv-scanner.ts';
import type { InvoiceHeader } from '../../lib/wire/invoice-event.ts';
import { EVENTS, type EventType } from '../../lib/wire/names.ts';
import { openWarehouse, rebuildWarehouse } from '../../warehouse/open-warehouse.ts';
import type { RebuildOptions } from '../../warehouse/rebuild.ts';
import type { OpenWarehouseOptions } from '../../warehouse/store.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';

export const INVOICE = '11111111-1111-4111-8111-111111111111';
export const silent = pino({ level: 'silent' });

export type TestWarehouse = Awaited<ReturnType<typeof aWarehouse>>;

/** A clock that advances a second with each call, so that instants in a test are distinct. */
export function tickingClock(start = '2026-03-01T00:00:00.000Z'): () => Date {
  let at = new Date(start).getTime();
  return () => {
    at += 1000;
    return new Date(at);
  };
}

export function settingsFor(dataDir: string): OpenWarehouseOptions['settings'] {
  return {
    dataDir,
    environment: 'test',
    warehouse: { kind: 'duckdb', path: join(dataDir, 'warehouse.duckdb') },
    warehouseMemoryLimit: null,
    archive: { kind: 'folder', path: join(dataDir, 'archive') },
  };
}

export function makeDataDir(under = tmpdir()): string {
  return mkdtempSync(join(under, 'billsync-warehouse-'));
}

let empty: Promise<Buffer> | undefined;

/** The file of a first start, made once for each process, since its schema takes most of the time of a test. */
async function emptyWarehouse(): Promise<Buffer> {
  const dataDir = makeDataDir();
  const settings = settingsFor(dataDir);
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  const warehouse = await openWarehouse({ log: silent, now: tickingClock(), settings, archive });
  await warehouse.close();
  await archive.close();
  const bytes = await readFile(join(dataDir, 'warehouse.duckdb'));
  rmSync(dataDir, { recursive: true, force: true });
  return bytes;
}

/** Puts the file of a first start into an empty folder. */
async function startFromEmpty({ dataDir, warehouse }: OpenWarehouseOptions['settings']): Promise<void> {
  if (warehouse.kind !== 'duckdb' || readdirSync(dataDir).length > 0) return;
  empty ??= emptyWarehouse();
  await writeFile(warehouse.path, await empty, { mode: 0o600 });
}

/** @param isCopied false: made from nothing, for a test in which two files must not have a common origin */
export async function aWarehouse(
  overrides: Partial<Omit<OpenWarehouseOptions, 'archive'>> = {},
  isCopied = true,
) {
  const dataDir = overrides.settings?.dataDir ?? makeDataDir();
  const settings = overrides.settings ?? settingsFor(dataDir);
  if (isCopied) await startFromEmpty(settings);
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  const open = (): Promise<Warehouse> =>
    openWarehouse({ log: silent, now: tickingClock(), ...overrides, settings, archive });
  let warehouse = await open();
  return {
    dataDir,
    archive,
    settings,
    recordsPerCut: overrides.recordsPerCut,
    get warehouse() {
      return warehouse;
    },
    async record(events: readonly ArchivedEvent[]) {
      await Promise.all(events.map((event) => archive.putEvent(event)));
      await warehouse.ingestArchive();
    },
    async query(sql: string) {
      return queryFile((await warehouse.publish()).path, sql);
    },
    async drift() {
      return (await warehouse.verify({ full: true })).drift;
    },
    async reopen() {
      await warehouse.close();
      warehouse = await open();
      return warehouse;
    },
    async rebuild(options: Partial<RebuildOptions> = {}) {
      await warehouse.close();
      const made = await rebuildWarehouse({ settings, archive, log: silent, ...options });
      warehouse = await open();
      return made;
    },
    async close() {
      await warehouse.close();
      await archive.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export type Cells = Partial<Record<CsvHeader, string>>;

export const CELLS: Readonly<Record<CsvHeader, string>> = {
  Tenant: 'Acme, "Inc."',
  'Invoice Generation Date': '2026-02-28',
  'Invoice ID': INVOICE,
  'Ship Date': '2026-02-03',
  Origin: '00501',
  'Currency Code': 'USD',
  'Billing Cost': '9.16',
  'Billable Weight': '2.5',
  'Billable Weight Unit': 'LB',
  'Tracking Number': '1Z0001',
  Carrier: 'UPS',
  'Carrier Zone': '5',
  'Carrier Invoice Date': '2026-02-10',
  'Service Level': 'Ground\r\nresidential',
};

/** The bytes of a file, by another library. */
export function aCsv(rows: readonly Cells[] = [{}], invoiceId = INVOICE, headers = CSV_HEADERS): Buffer {
  const lines = rows.map((cells, index) =>
    headers.map((name) => {
      const base =
        name === 'Invoice ID' ? invoiceId : name === 'Tracking Number' ? `1Z${index}` : CELLS[name];
      return cells[name] ?? base;
    }),
  );
  return Buffer.from(stringify([headers, ...lines], { record_delimiter: '\r\n', quoted_match: /[\r\n]/ }));
}

export const HEADER_BYTES = aCsv().indexOf('\r\n') + 2;

/** A file of so many records; the rows are repeated. */
export function manyRecords(records: number, rows: readonly Cells[] = [{}], invoiceId = INVOICE): Buffer {
  const bytes = aCsv(rows, invoiceId);
  const times = Math.floor(records / rows.length);
  const rest = aCsv(rows.slice(0, records % rows.length), invoiceId).subarray(HEADER_BYTES);
  const whole = Array<Buffer>(times).fill(bytes.subarray(HEADER_BYTES));
  return Buffer.concat([bytes.subarray(0, HEADER_BYTES), ...whole, rest]);
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export async function archiveCsv(
  test: Pick<TestWarehouse, 'dataDir' | 'archive'> & { readonly recordsPerCut?: number | undefined },
  bytes: Buffer,
): Promise<ArchivedFile> {
  const hash = sha256(bytes);
  const path = join(test.dataDir, `${hash}.${Math.random()}.part`);
  writeFileSync(path, bytes);
  const scanner = new CsvScanner(test.recordsPerCut);
  scanner.push(bytes);
  return test.archive.putFile(path, { sha256: hash, sizeBytes: bytes.length, scan: scanner.end() });
}

/** Archives the bytes and loads them; by default the hash was announced. */
export async function loadCsv(
  test: TestWarehouse,
  bytes: Buffer,
  request: Partial<LoadRequest> = {},
): Promise<LoadOutcome> {
  const { sha256: hash } = await archiveCsv(test, bytes);
  return loadArchived(test, hash, request);
}

export function loadArchived(
  test: Pick<TestWarehouse, 'warehouse'>,
  hash: string,
  request: Partial<LoadRequest> = {},
): Promise<LoadOutcome> {
  return test.warehouse.load({
    invoiceId: INVOICE,
    sha256: hash,
    source: 'event',
    announcedSha256: hash,
    eventId: null,
    workflowRunId: null,
    ...request,
  });
}

export interface EventOverrides {
  readonly eventId?: string;
  readonly receivedAt?: string;
  readonly eventTimestamp?: string;
  readonly verdict?: ArchivedEvent['verdict'];
  readonly header?: Partial<InvoiceHeader>;
  readonly fileHashSha256?: string;
  readonly fileSizeBytes?: number;
}

let nextEvent = 1;

export function anEvent(eventType: EventType, overrides: EventOverrides = {}): ArchivedEvent {
  const number = `${nextEvent++}`.padStart(12, '0');
  const eventId = overrides.eventId ?? `eeeeeeee-0000-4000-8000-${number}`;
  const verdict = overrides.verdict ?? 'accepted';
  return {
    eventId,
    receivedAt: overrides.receivedAt ?? '2026-03-01T00:00:00.500Z',
    verdict,
    reason: null,
    envelope: '{}',
    event: {
      eventId,
      eventTimestamp: overrides.eventTimestamp ?? '2026-03-01T00:00:00Z',
      eventType,
      partnerId: '99999999-9999-4999-8999-999999999999',
      isTestEvent: verdict === 'test',
      invoice: {
        invoiceId: INVOICE,
        partnerInvoiceId: null,
        tenantId: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
        partnerTenantId: 'acme',
        invoiceNumber: 'INV-1',
        invoiceStatus: EVENTS[eventType].status,
        invoiceStartDate: '2026-02-01T00:00:00Z',
        invoiceEndDate: '2026-02-28T23:59:59Z',
        invoiceDate: '2026-02-28T00:00:00Z',
        invoiceDueDate: '2026-03-15T00:00:00Z',
        currencyCode: 'USD',
        invoiceTotalAmount: '9.16',
        totalTransactionCount: 1,
        ...overrides.header,
      },
      export: EVENTS[eventType].bringsFile
        ? {
            presignedUrl: 'https://storage.example/f.csv',
            presignedUrlExpiresAt: '2026-03-02T00:00:00Z',
            fileHashSha256: overrides.fileHashSha256 ?? '0'.repeat(64),
            fileSizeBytes: overrides.fileSizeBytes ?? 1,
          }
        : null,
    },
  };
}

/** The views whose rows a rebuild gives again; the publication is another. */
export const READER_VIEWS = [
  ...['shipments', 'invoices', 'events', 'files', 'discrepancies'],
  ...['shipment_versions', 'level_cross_check'],
];

/** Runs statements on a file that is not open, or on `:memory:`. @returns the rows of the last one */
export async function runOnFile(path: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const text of statements) rows = (await connection.runAndReadAll(text)).getRowObjectsJson();
    return rows;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Queries the published copy (or any file) as an analyst would: another instance, read-only. */
export async function queryFile(path: string, sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
