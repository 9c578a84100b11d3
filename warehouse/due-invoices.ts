/** Which invoices reconciliation has to look after, and the note that the service was asked about them. */

import { uuidOrNull } from './ledger-lines.js';
import type { Ledgers, Row } from './statements.js';

export interface DueInvoice {
  readonly partnerId: string;
  readonly invoiceId: string;
}

export interface DueRequest {
  /** ISO 8601 UTC. */
  readonly until: string;
  /** At most so many of what is asked or tried again; the others stay due. */
  readonly limit: number;
  /** How many days after the invoice date a loaded invoice is asked about. */
  readonly recheckDays: number;
  /** Reasons to need a person that time does not heal. */
  readonly neverRetried: readonly string[];
  /** Whose invoices those are that nobody told of; null: nobody's. */
  readonly partnerId: string | null;
  /** Whether a void that only an event told of is to be asked about; missing: it is. */
  readonly confirmVoids?: boolean;
}

export interface DueInvoices {
  /** All that a workflow should be open for. */
  readonly unfinished: readonly DueInvoice[];
  /** Loaded: daily for a week, then weekly; and whose void a person undid, once. */
  readonly toRecheck: readonly DueInvoice[];
  /** Waiting for a person: daily. */
  readonly toRetry: readonly DueInvoice[];
  readonly needAttention: number;
}

/** Each kind by one statement that answers no more than is asked for, so that a run's cost is not that of all invoices. */
export async function readDue(ledgers: Ledgers, request: DueRequest): Promise<DueInvoices> {
  const { until, limit, recheckDays: days, partnerId: partner_id, confirmVoids = true } = request;
  const due = { until, limit, partner_id };
  const never = JSON.stringify(request.neverRetried);
  const [counted] = await ledgers.all('count-attention');
  return {
    unfinished: (await ledgers.all('unfinished-invoices', { partner_id, confirm_voids: confirmVoids })).map(
      toDue,
    ),
    toRecheck: (await ledgers.all('due-rechecks', { ...due, days })).map(toDue),
    toRetry: (await ledgers.all('due-retries', { ...due, never })).map(toDue),
    needAttention: Number(counted?.invoices ?? 0),
  };
}

/** Until they come due again, these were asked at this instant (ISO 8601 UTC). */
export async function noteAsked(
  ledgers: Ledgers,
  invoiceIds: readonly string[],
  askedAt: string,
): Promise<void> {
  const invoice_ids = JSON.stringify(invoiceIds.flatMap((id) => uuidOrNull(id) ?? []));
  await ledgers.transaction(async (statements) => {
    await statements.all('forget-asked', { invoice_ids });
    await statements.all('note-asked', { invoice_ids, asked_at: askedAt });
  });
}

function toDue(row: Row): DueInvoice {
  return { invoiceId: String(row.invoice_id), partnerId: String(row.partner_id) };
}
