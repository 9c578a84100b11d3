/** What a new file of a known invoice changed, row by row, from the published copy or any warehouse file. */

import { tmpdir } from 'node:os';
import { uuidOrNull } from '../../lib/wire/text.ts';
import { openForReading } from '../lake/lake-source.ts';

export interface InvoiceVersion {
  readonly loadId: number;
  readonly version: number;
  readonly sha256: string;
  readonly source: string;
  readonly shipments: number;
  readonly billingCost: string;
  readonly currencyCode: string | null;
  readonly loadedAt: string;
  readonly isCurrent: boolean;
}

export interface RowChange {
  readonly change: 'added' | 'removed' | 'changed';
  readonly trackingNumber: string;
  readonly shipDate: string;
  readonly carrier: string;
  readonly serviceLevel: string | null;
  readonly currencyCode: string;
  /** Exact decimal text; null for an added row. */
  readonly oldBillingCost: string | null;
  /** null for a removed row. */
  readonly newBillingCost: string | null;
}

export interface VersionDiff {
  readonly versions: readonly InvoiceVersion[];
  /** null when there are fewer than two versions to compare. */
  readonly from: InvoiceVersion | null;
  readonly to: InvoiceVersion | null;
  readonly changes: readonly RowChange[];
}

export interface DiffRequest {
  /** Opened read-only; a file that a writer holds cannot be opened, its published copy can. */
  readonly databasePath: string;
  readonly invoiceId: string;
  /** Version numbers; by default the last two. */
  readonly from?: number;
  readonly to?: number;
}

/**
 * Compares two versions of an invoice, by default the last two.
 *
 * @returns rows by tracking number, date, carrier and service; amounts as exact text
 */
export async function diffVersions(request: DiffRequest): Promise<VersionDiff> {
  const invoiceId = uuidOrNull(request.invoiceId);
  const nothing = { versions: [], from: null, to: null, changes: [] };
  if (invoiceId === null) return nothing;
  const database = await openForReading(request.databasePath, tmpdir());
  try {
    const versions = (await database.all('invoice-versions', { invoice_id: invoiceId })).map(toVersion);
    const to = pick(versions, request.to) ?? versions.at(-1) ?? null;
    const before = versions.filter(({ version }) => to !== null && version < to.version);
    const from = pick(versions, request.from) ?? before.at(-1) ?? null;
    if (from === null || to === null) return { ...nothing, versions };
    const rows = await database.all('version-diff', { from_load: from.loadId, to_load: to.loadId });
    return { versions, from, to, changes: rows.map(toChange) };
  } finally {
    database.close();
  }
}

function pick(versions: readonly InvoiceVersion[], number: number | undefined): InvoiceVersion | undefined {
  return number === undefined ? undefined : versions.find(({ version }) => version === number);
}

type Row = Readonly<Record<string, unknown>>;

function toVersion(row: Row): InvoiceVersion {
  return {
    loadId: Number(row.load_id),
    version: Number(row.version),
    sha256: String(row.file_sha256),
    source: String(row.file_source),
    shipments: Number(row.shipments),
    billingCost: String(row.billing_cost),
    currencyCode: text(row.currency_code),
    loadedAt: String(row.loaded_at),
    isCurrent: row.is_current === true,
  };
}

function toChange(row: Row): RowChange {
  return {
    change: row.change as RowChange['change'],
    trackingNumber: String(row.tracking_number),
    shipDate: String(row.ship_date),
    carrier: String(row.carrier),
    serviceLevel: text(row.service_level),
    currencyCode: String(row.currency_code),
    oldBillingCost: text(row.old_billing_cost),
    newBillingCost: text(row.new_billing_cost),
  };
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
