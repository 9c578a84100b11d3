/** One side of the bench of growth in a process of its own: settles invoices in the warehouse of a folder; prints one JSON line. */

import { createHash, randomInt, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { ArchivedEvent } from '../../archive/archive.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { CSV_HEADERS } from '../../contract/columns.ts';
import { CsvScanner } from '../../contract/csv-scanner.ts';
import { openWarehouse } from '../../warehouse/open-warehouse.ts';
import type { OpenWarehouseOptions } from '../../warehouse/opening.ts';

const ROWS = 20;

const [folder = '', invoices = '', perPublication = '', first = ''] = process.argv.slice(2);
const settings: OpenWarehouseOptions['settings'] = {
  dataDir: folder,
  environment: 'test',
  warehouse: { kind: 'duckdb', path: join(folder, 'warehouse.duckdb') },
  warehouseMemoryLimit: null,
  archive: { kind: 'folder', path: join(folder, 'archive') },
};
const archive = await openFolderArchive(join(folder, 'archive'));
const log = pino({ level: 'error' }, process.stderr);
const warehouse = await openWarehouse({ settings, archive, log, role: 'bench' });
const spent = { events: 0, load: 0, look: 0, due: 0, publish: 0 };
// The first publications of each side are not measured.
for (let nth = 0; nth < Number(first); nth += 1) {
  await settle();
  await warehouse.publish();
}
for (const name of Object.keys(spent) as (keyof typeof spent)[]) spent[name] = 0;

const began = performance.now();
const before = process.cpuUsage();
for (let nth = 1; nth <= Number(invoices); nth += 1) {
  await settle();
  if (nth % Number(perPublication) === 0) await step('publish', () => warehouse.publish());
}
await step('due', () =>
  warehouse.due({
    until: new Date().toISOString(),
    limit: 1_000,
    recheckDays: 60,
    partnerId: 'partner-1',
    confirmVoids: true,
    neverRetried: [],
  }),
);
const { user, system } = process.cpuUsage(before);
console.log(
  JSON.stringify({
    ms: performance.now() - began,
    cpuMs: (user + system) / 1000,
    peakMb: process.resourceUsage().maxRSS / 1024,
    spent,
  }),
);
await warehouse.close();
await archive.close();

async function step<T>(name: keyof typeof spent, work: () => Promise<T>): Promise<T> {
  const at = process.cpuUsage();
  try {
    return await work();
  } finally {
    const { user: ofUser, system: ofSystem } = process.cpuUsage(at);
    spent[name] += (ofUser + ofSystem) / 1000;
  }
}

/** What the worker asks of the warehouse for one plain invoice. */
async function settle(): Promise<void> {
  const invoiceId = randomUUID();
  const bytes = csvOf(invoiceId);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const path = join(folder, `${sha256}.part`);
  writeFileSync(path, bytes);
  const scanner = new CsvScanner();
  scanner.push(bytes);
  const scan = scanner.end();
  for (const eventType of ['invoice_created', 'invoice_finalized'] as const) {
    await archive.putEvent(event(eventType, invoiceId));
    await step('events', () => warehouse.ingestArchive());
  }
  await archive.putFile(path, { sha256, sizeBytes: bytes.length, scan });
  await step('load', () =>
    warehouse.load({
      ...{ invoiceId, sha256, source: 'event', announcedSha256: sha256 },
      ...{ eventId: null, workflowRunId: null },
    }),
  );
  await step('look', () => warehouse.invoice(invoiceId));
}

/** Tracking numbers come in no order, between those that the warehouse has. */
function csvOf(invoiceId: string): Buffer {
  const cells: Partial<Record<(typeof CSV_HEADERS)[number], string>> = {
    ...{ Tenant: 'Tenant 7', 'Invoice Generation Date': '2026-02-28', 'Invoice ID': invoiceId },
    ...{ 'Ship Date': '2026-02-03', 'Currency Code': 'USD', 'Billing Cost': '9.16', Carrier: 'UPS' },
  };
  const rows = Array.from({ length: ROWS }, () => {
    const trackingNumber = `1Z${`${randomInt(10 ** 14)}`.padStart(14, '0')}`;
    return CSV_HEADERS.map((name) => (name === 'Tracking Number' ? trackingNumber : (cells[name] ?? '')));
  });
  return Buffer.from([CSV_HEADERS, ...rows].map((row) => `${row.join(',')}\r\n`).join(''));
}

function event(eventType: 'invoice_created' | 'invoice_finalized', invoiceId: string): ArchivedEvent {
  const [eventId, at] = [randomUUID(), new Date().toISOString()];
  const invoiceStatus = eventType === 'invoice_created' ? 'draft' : 'finalized';
  return {
    ...{ eventId, receivedAt: at, verdict: 'accepted', reason: null, envelope: '{}' },
    event: {
      ...{ eventId, eventTimestamp: at, eventType, partnerId: 'partner-1', isTestEvent: false, export: null },
      invoice: {
        ...{ invoiceId, partnerInvoiceId: null, tenantId: 'tenant-7', partnerTenantId: 'T7' },
        ...{ invoiceNumber: invoiceId.slice(0, 8), invoiceStatus },
        ...{ invoiceStartDate: '2026-02-01', invoiceEndDate: '2026-02-28', invoiceDate: '2026-02-28' },
        ...{ invoiceDueDate: '2026-03-15', currencyCode: 'USD', totalTransactionCount: ROWS },
        invoiceTotalAmount: (9.16 * ROWS).toFixed(2),
      },
    },
  };
}
