import type { AlertKey } from '../lib/alerts/alert-names.ts';
import { type InvoiceEvent, withoutUrlQuery } from '../lib/wire/invoice-event.ts';
import type { InvoiceSummary } from '../warehouse/warehouse.ts';
import type { WarehouseActivities } from '../workflows/activities.ts';
import type { InvoiceLedger } from '../workflows/lifecycle.ts';
import type { WarehouseDependencies } from './dependencies.ts';

export function attentionKey(invoiceId: string): AlertKey {
  return `attention/${invoiceId}`;
}

export function voidedAfterLoadKey(invoiceId: string): AlertKey {
  return `voided-after-load/${invoiceId}`;
}

export function createInvoiceActivities({
  warehouse,
  archive,
  alerts,
  log,
  now,
}: WarehouseDependencies): Pick<
  WarehouseActivities,
  | 'recordEvent'
  | 'readLedger'
  | 'readLedgerStatuses'
  | 'recordDetails'
  | 'voidInvoice'
  | 'markNeedsAttention'
  | 'clearNeedsAttention'
  | 'recordFailure'
  | 'decideInvoice'
> {
  return {
    async recordEvent({ event }) {
      // The forwarder has archived its events already; an event of a tool or a test is archived here.
      if ((await archive.event(event.eventId)) === null) await archiveEvent(event);
      await warehouse.ingestArchive({ deferFacts: true });
      return ledgerOf(await warehouse.invoice(event.invoice.invoiceId));
    },

    readLedger: async ({ invoiceId }) => ledgerOf(await warehouse.invoice(invoiceId)),

    readLedgerStatuses: ({ invoiceIds }) => warehouse.ledgerStatuses(invoiceIds),

    async recordDetails(details) {
      const { invoiceId, unknownStatus = null } = details;
      await warehouse.recordDetails(details);
      const key = `unknown-status/${invoiceId}` as const;
      if (unknownStatus === null) return alerts.resolve(key);
      alerts.raise({
        key,
        title: `Invoice ${invoiceId} has an unknown status`,
        detail: `The service states "${unknownStatus}". Nothing was changed: a loaded invoice stays in the totals, another one is not loaded because of it. Ask the service what this status means; it may be a void.`,
      });
    },

    async voidInvoice({ invoiceId }) {
      const { hadRows } = await warehouse.voidInvoice(invoiceId);
      alerts.resolve(attentionKey(invoiceId));
      if (hadRows) {
        alerts.raise({
          key: voidedAfterLoadKey(invoiceId),
          title: `Invoice ${invoiceId} was voided after it was loaded`,
          detail: `Its shipments left every total. Inform those who received reports with them; \`billsync invoices show ${invoiceId}\` shows since when it counted.`,
        });
      }
    },

    async markNeedsAttention(request) {
      const { invoiceId, reason } = request;
      await warehouse.markNeedsAttention(request);
      // A person may have restored the invoice while the service denied its void: then nothing waits for a person any more.
      const invoice = await warehouse.invoice(invoiceId);
      if (invoice?.restoredAt != null && invoice.state !== 'needs_attention') return;
      alerts.raise({
        key: attentionKey(invoiceId),
        title: `Invoice ${invoiceId} needs attention`,
        detail: reason,
      });
    },

    clearNeedsAttention: ({ invoiceId }) => warehouse.clearNeedsAttention(invoiceId),

    async recordFailure({ invoiceId, failure, isAlert }) {
      await warehouse.recordFailure(invoiceId, failure);
      const key = `failure/${invoiceId}` as const;
      if (failure === null) alerts.resolve(key);
      else if (isAlert) {
        alerts.raise({
          key,
          title: `The billing service does not return invoice ${invoiceId}`,
          detail: `${failure.reason} It counts as it is loaded; whether it was voided since is not known.`,
        });
      }
    },

    async decideInvoice(decision) {
      const decided = await warehouse.decide(decision);
      if (decided.outcome === 'done' && !decision.isDryRun) {
        const { kind, invoiceId, by, reason } = decision;
        log.info({ invoiceId, by, reason }, `a person decided: ${kind}`);
        alerts.resolve(`outranked/${invoiceId}`);
        if (kind === 'restore') {
          alerts.resolve(attentionKey(invoiceId));
          alerts.resolve(voidedAfterLoadKey(invoiceId));
        }
      }
      return decided;
    },
  };

  async function archiveEvent(event: InvoiceEvent): Promise<void> {
    const readable = withoutUrlQuery(event);
    await archive.putEvent({
      eventId: event.eventId,
      receivedAt: now().toISOString(),
      verdict: 'accepted',
      reason: null,
      event: readable,
      envelope: JSON.stringify(readable),
    });
  }
}

function ledgerOf(invoice: InvoiceSummary | null): InvoiceLedger {
  if (invoice === null) {
    return { state: null, loadedSha256: null, voidBasis: null, isRestored: false, failureCode: null };
  }
  const { state, loadedSha256, voidBasis, restoredAt, reasonCode } = invoice;
  const isRestored = restoredAt !== null && voidBasis === null;
  const failureCode = state === 'needs_attention' ? null : reasonCode;
  return { state, loadedSha256, voidBasis, isRestored, failureCode };
}
