import { uuidOrNull } from '../../lib/text.ts';
import type { DueInvoice, LedgerStatus, VoidBasis } from '../../lib/warehouse-requests.ts';
import type { InvoiceState } from '../../lib/wire/names.ts';
import type { Database } from '../duckdb/database.ts';
import { camelCase, type Ledgers, type Params } from '../duckdb/statements.ts';

export interface InvoiceSummary {
  readonly invoiceId: string;
  readonly tenantId: string | null;
  readonly partnerTenantId: string | null;
  readonly state: InvoiceState;
  readonly reasonCode: string | null;
  readonly reason: string | null;
  readonly voidBasis: VoidBasis | null;
  readonly restoredAt: string | null;
  readonly stateSince: string;
  readonly loadedSha256: string | null;
  readonly loadedVersion: number | null;
  readonly lastVersion: number;
  readonly shipments: number | null;
  readonly billingCost: string | null;
}

export interface DueRequest {
  readonly until: string;
  readonly limit: number;
  /** Loaded invoices are rechecked until this many days after the invoice date. */
  readonly recheckDays: number;
  /** The partner of invoices that no event announced; null leaves such invoices out. */
  readonly partnerId: string | null;
  /** Whether voids that only an event reported are unfinished; true by default. */
  readonly confirmVoids?: boolean;
}

export interface DueInvoices {
  readonly unfinished: readonly DueInvoice[];
  /** Loaded invoices, daily for a week and then weekly; restored ones once. */
  readonly toRecheck: readonly DueInvoice[];
  readonly toRetry: readonly DueInvoice[];
  readonly needAttention: number;
}

export interface RemovableFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly tenantId: string | null;
  readonly partnerTenantId: string | null;
  readonly why: 'voided' | 'replaced' | 'never-loaded';
  /** Number of loaded shipments; null when the invoice was never loaded. */
  readonly shipments: number | null;
  /** Decimal text, of the rows in `currencyCode`; null when the invoice was never loaded. */
  readonly billingCost: string | null;
  readonly currencyCode: string | null;
}

/** Reads invoices, the oldest first. */
export async function readInvoices(
  database: Pick<Ledgers, 'all'>,
  { states = [] }: { readonly states?: readonly InvoiceState[] },
): Promise<readonly InvoiceSummary[]> {
  const rows = await database.all('invoice-ids', { states: states.join(',') });
  const invoices = await readInvoicesOf(
    database,
    rows.map((row) => String(row.invoice_id)),
  );
  return invoices.filter((invoice) => invoice !== null);
}

/** @returns the invoices in the order of the ids; null for one that is unknown, or no UUID */
export async function readInvoicesOf(
  database: Pick<Ledgers, 'all'>,
  invoiceIds: readonly string[],
): Promise<readonly (InvoiceSummary | null)[]> {
  const ids = [...new Set(invoiceIds.flatMap((invoiceId) => uuidOrNull(invoiceId) ?? []))];
  if (ids.length === 0) return invoiceIds.map(() => null);
  const rows = await database.all('select-invoices', { invoice_ids: ids.join(',') });
  const found = new Map(rows.map((row) => [String(row.invoice_id), camelCase<InvoiceSummary>(row)]));
  return invoiceIds.map((invoiceId) => found.get(uuidOrNull(invoiceId) ?? '') ?? null);
}

export async function readLedgerStatuses(
  database: Pick<Ledgers, 'all'>,
  invoiceIds: readonly string[],
): Promise<readonly LedgerStatus[]> {
  const ids = invoiceIds.flatMap((invoiceId) => uuidOrNull(invoiceId) ?? []);
  if (ids.length === 0) return [];
  const rows = await database.all('ledger-statuses', { invoice_ids: ids.join(',') });
  return rows.map((row) => camelCase<LedgerStatus>(row));
}

/** One limited statement for each kind, so that the cost does not depend on the number of all invoices. */
export async function readDue(ledgers: Ledgers, request: DueRequest): Promise<DueInvoices> {
  const { until, limit, recheckDays: days, partnerId: partner_id, confirmVoids = true } = request;
  const due = { until, limit, partner_id };
  const read = async (name: string, params: Params): Promise<readonly DueInvoice[]> =>
    (await ledgers.all(name, params)).map((row) => camelCase<DueInvoice>(row));
  const [counted] = await ledgers.all('count-attention');
  return {
    unfinished: await read('unfinished-invoices', { partner_id, confirm_voids: confirmVoids }),
    toRecheck: await read('due-rechecks', { ...due, days }),
    toRetry: await read('due-retries', due),
    needAttention: Number(counted?.invoices ?? 0),
  };
}

export interface Unconfirmed {
  /** Invoices whose events were received before our partner was known. */
  readonly unchecked: readonly (DueInvoice & { readonly voidBasis: VoidBasis | null })[];
  /** Loaded files that only an event has named, and invoices that the service did not know. */
  readonly announced: readonly (DueInvoice & {
    readonly voidBasis: VoidBasis | null;
    readonly fileSha256: string;
    readonly encodedSha256: string | null;
  })[];
  /** An invoice that the service has named itself; null when there is none. */
  readonly confirmed: string | null;
}

export async function readUnconfirmed(
  ledgers: Pick<Ledgers, 'all'>,
  request: { readonly partnerId: string | null; readonly since: string; readonly limit: number },
): Promise<Unconfirmed> {
  const { partnerId: partner_id, since, limit } = request;
  const unchecked = await ledgers.all('unchecked-invoices');
  const announced = await ledgers.all('unconfirmed-invoices', { partner_id, since, limit });
  const [confirmed] = announced.length === 0 ? [] : await ledgers.all('confirmed-invoice');
  return {
    unchecked: unchecked.map((row) => camelCase<Unconfirmed['unchecked'][number]>(row)),
    announced: announced.map((row) => camelCase<Unconfirmed['announced'][number]>(row)),
    confirmed: confirmed === undefined ? null : String(confirmed.invoice_id),
  };
}

export async function recordServiceCheck(
  ledgers: Ledgers,
  invoiceIds: readonly string[],
  checkedAt: string,
): Promise<void> {
  const invoice_ids = invoiceIds.flatMap((id) => uuidOrNull(id) ?? []).join(',');
  if (invoice_ids === '') return;
  await ledgers.transaction(async (statements) => {
    await statements.all('delete-service-checks', { invoice_ids });
    await statements.all('insert-service-checks', { invoice_ids, checked_at: checkedAt });
  });
}

/** Files whose removal changes no report as known from `before` on (ISO 8601 UTC; ADR 20). */
export async function readRemovableFiles(
  database: Database,
  before: string,
): Promise<readonly RemovableFile[]> {
  const rows = await database.all('removable-files', { before: before.replace(/Z$/, '') });
  return rows.map((row) => camelCase<RemovableFile>(row));
}
