/** Which invoices reconciliation has to look after, and the note that the service was asked about them. */

import { uuidOrNull } from '../../lib/wire/text.ts';
import type { Ledgers, Row } from '../duckdb/statements.ts';
import type { DueInvoice, DueInvoices, DueRequest } from '../warehouse.ts';

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
export async function recordServiceCheck(
  ledgers: Ledgers,
  invoiceIds: readonly string[],
  askedAt: string,
): Promise<void> {
  const invoice_ids = JSON.stringify(invoiceIds.flatMap((id) => uuidOrNull(id) ?? []));
  await ledgers.transaction(async (statements) => {
    await statements.all('delete-service-checks', { invoice_ids });
    await statements.all('insert-service-checks', { invoice_ids, checked_at: askedAt });
  });
}

function toDue(row: Row): DueInvoice {
  return { invoiceId: String(row.invoice_id), partnerId: String(row.partner_id) };
}
