/**
 * The billing service in memory, with its books: invoices go their ways, events are sent as often and as late as dice
 * say, and every call may meet trouble until the trouble is over. What it answers is spelled as the real one spells it.
 */

import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive } from '../../archive/archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import {
  HashMismatchError,
  NotExportedError,
  OverloadedError,
  RefusedError,
  ServerFaultError,
  UnknownInvoiceError,
  UnreachableError,
  UrlRefusedError,
} from '../../billing/errors.ts';
import type { ArchivedFile } from '../../contract/csv-file.ts';
import { CsvScanner } from '../../contract/csv-scanner.ts';
import type { ExportLocation } from '../../contract/invoice-event.ts';
import { EVENTS, type EventType, type FileSource, type WebhookStatus } from '../../contract/names.ts';
import type { Agenda } from './agenda.ts';
import type { Dice } from './dice.ts';

export interface BookedInvoice {
  readonly invoiceId: string;
  readonly tenant: string;
  status: WebhookStatus;
  /** Billing costs in whole cents, a row each; the newest export has them. */
  costs: readonly number[];
  /** How often it was exported: a later export corrects an earlier one. */
  exports: number;
  /** false: the details endpoint answers 404 for it. */
  readonly hasDetails: boolean;
  /** The export to storage failed: no finalized event, no URL, but details and export-csv (spec 6, rule 6). */
  readonly isExportBroken: boolean;
}

export interface SentEvent {
  readonly eventId: string;
  readonly eventType: EventType;
  readonly invoiceId: string;
  readonly body: string;
}

export interface VirtualServiceOptions {
  readonly agenda: Agenda;
  readonly dice: Dice;
  readonly archive: () => Archive;
  readonly folder: string;
  readonly partnerId: string;
}

const NO_REASON = { code: null, description: null };
const HOST = 'storage.example';
const DAY_MS = 86_400_000;
const HEADERS =
  'Tenant,Invoice Generation Date,Invoice ID,Ship Date,Origin,Currency Code,Billing Cost,Billable Weight,Billable Weight Unit,Tracking Number,Carrier,Carrier Zone,Carrier Invoice Date,Service Level';

export type VirtualService = ReturnType<typeof createVirtualService>;

export function createVirtualService(options: VirtualServiceOptions) {
  const { agenda, dice, archive, folder, partnerId } = options;
  const invoices = new Map<string, BookedInvoice>();
  let troubleUntilMs = agenda.nowMs();
  let troubleRate = 0;

  function create(): BookedInvoice {
    const isExportBroken = dice.chance(0.1);
    const invoice: BookedInvoice = {
      invoiceId: dice.uuid(),
      tenant: dice.pick(['Acme', 'Bolt', 'Crate']),
      status: 'draft',
      costs: Array.from({ length: dice.between(1, 4) }, () => dice.between(-50, 90_000)),
      exports: 0,
      hasDetails: isExportBroken || dice.chance(0.8),
      isExportBroken,
    };
    invoices.set(invoice.invoiceId, invoice);
    return invoice;
  }

  /** A correction: another file, told by another event. */
  function exportAnew(invoice: BookedInvoice): void {
    if (invoice.exports > 0) invoice.costs = [...invoice.costs.slice(1), dice.between(1, 90_000)];
    invoice.exports += 1;
    invoice.status = 'finalized';
  }

  function eventOf(invoice: BookedInvoice, eventType: EventType): SentEvent {
    const eventId = dice.uuid();
    const { invoiceId, costs } = invoice;
    const at = agenda.now().toISOString();
    const cents = costs.reduce((sum, cost) => sum + cost, 0);
    const location = EVENTS[eventType].bringsFile ? locationOf(invoice) : {};
    const body = JSON.stringify({
      metadata: {
        ...{
          eventId,
          eventTimestamp: at,
          eventType,
          partnerId,
          payloadSchemaVersion: 'v1',
          testEvent: false,
        },
      },
      payload: {
        ...{ acmeInvoiceId: invoiceId, partnerInvoiceId: null, acmeTenantId: tenantId(invoice.tenant) },
        ...{ partnerTenantId: invoice.tenant, invoiceNumber: `INV-${invoiceId.slice(0, 8)}` },
        ...{ invoiceStatus: EVENTS[eventType].status, invoiceStartDate: '2026-02-01T00:00:00Z' },
        ...{ invoiceEndDate: '2026-02-28T23:59:59Z', invoiceDate: '2026-03-01T00:00:00Z' },
        ...{ invoiceDueDate: '2026-03-16T00:00:00Z', currencyCode: 'USD', invoiceTotalAmount: cents / 100 },
        ...{ totalTransactionCount: costs.length, ...location },
      },
    });
    return { eventId, eventType, invoiceId, body };
  }

  function locationOf(invoice: BookedInvoice): ExportLocation {
    const bytes = csvOf(invoice);
    const expiresAt = new Date(agenda.nowMs() + DAY_MS).toISOString();
    return {
      presignedUrl: `https://${HOST}/${invoice.invoiceId}.csv?signature=${dice.uuid()}`,
      presignedUrlExpiresAt: expiresAt,
      fileHashSha256: sha256(bytes),
      fileSizeBytes: bytes.length,
    };
  }

  /** Every call meets this first. */
  function meetTrouble(): void {
    if (agenda.nowMs() >= troubleUntilMs || !dice.chance(troubleRate)) return;
    const kind = dice.between(0, 2);
    if (kind === 0) throw new UnreachableError('service.example', 'ECONNRESET', null);
    if (kind === 1) throw new OverloadedError('service.example', 429, dice.pick([null, 5, 90]));
    throw new ServerFaultError('service.example', 500, NO_REASON);
  }

  const isTrouble = (): boolean => agenda.nowMs() < troubleUntilMs && dice.chance(troubleRate);

  function known(invoiceId: string): BookedInvoice {
    const invoice = invoices.get(invoiceId);
    if (invoice === undefined) throw new UnknownInvoiceError(invoiceId);
    return invoice;
  }

  async function archived(
    invoice: BookedInvoice,
    bytes: Buffer,
    told: { readonly source: FileSource; readonly from: string | null },
  ): Promise<ArchivedFile> {
    const hash = sha256(bytes);
    const path = join(folder, `${hash}.part`);
    await writeFile(path, bytes);
    const scanner = new CsvScanner();
    scanner.push(bytes);
    const file = { sha256: hash, sizeBytes: bytes.length, scan: scanner.end() };
    const kept = await archive().putFile(path, file);
    const { invoiceId } = invoice;
    const at = agenda.now().toISOString();
    await archive().putFact({ kind: 'file', at, invoiceId, sha256: hash, sizeBytes: bytes.length, ...told });
    return kept;
  }

  const billing: BillingService = {
    async ping() {
      meetTrouble();
    },
    async fetchToken() {
      meetTrouble();
      return { secondsLeft: 3_600 };
    },
    partnerIds: () => [partnerId],
    async regenerateUrl(invoiceId) {
      meetTrouble();
      const invoice = invoices.get(invoiceId);
      if (invoice === undefined || invoice.exports === 0 || invoice.isExportBroken) {
        throw new NotExportedError(invoiceId);
      }
      if (isTrouble()) throw new RefusedError('regenerate', 400, NO_REASON);
      return locationOf(invoice);
    },
    async lookUpInvoice(invoiceId) {
      meetTrouble();
      const { status, hasDetails } = known(invoiceId);
      if (!hasDetails) throw new UnknownInvoiceError(invoiceId);
      return { status, unknownStatus: null, header: {} };
    },
    async downloadCsv({ invoiceId, location, source }) {
      meetTrouble();
      const invoice = known(invoiceId);
      const held = await archive().file(location.fileHashSha256);
      if (held !== null) return held;
      if (isTrouble()) throw new UrlRefusedError(HOST, 403, NO_REASON);
      const bytes = csvOf(invoice);
      if (sha256(bytes) !== location.fileHashSha256 || isTrouble()) {
        const actual = isTrouble() ? '0'.repeat(64) : sha256(bytes);
        throw new HashMismatchError(invoiceId, { expected: location.fileHashSha256, actual });
      }
      return archived(invoice, bytes, { source, from: `https://${HOST}/${invoiceId}.csv` });
    },
    async exportCsv(invoiceId) {
      meetTrouble();
      const invoice = known(invoiceId);
      if (invoice.exports === 0) throw new UnknownInvoiceError(invoiceId);
      return archived(invoice, csvOf(invoice), { source: 'export', from: null });
    },
    mayDownloadFrom: () => true,
    async close() {},
  };

  return {
    ...{ billing, invoices, create, exportAnew, eventOf },
    /** Calls fail at that rate for so long. */
    trouble(rate: number, forMs: number): void {
      troubleRate = rate;
      troubleUntilMs = agenda.nowMs() + forMs;
    },
    rowsOf: (invoice: BookedInvoice) => invoice.costs.map((cents) => (cents / 100).toFixed(2)),
  };
}

function csvOf({ invoiceId, tenant, costs, exports }: BookedInvoice): Buffer {
  const rows = costs.map((cents, i) =>
    [
      ...[tenant, '2026-03-01', invoiceId, '2026-02-03', '00501', 'USD', (cents / 100).toFixed(2)],
      ...['2.5', 'LB', `1Z${exports}${i}`, 'UPS', '5', '2026-02-10', 'Ground'],
    ].join(','),
  );
  return Buffer.from(`${[HEADERS, ...rows].join('\r\n')}\r\n`);
}

function tenantId(tenant: string): string {
  return `aaaaaaaa-0000-4000-8000-${Buffer.from(tenant).toString('hex').padStart(12, '0').slice(-12)}`;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
