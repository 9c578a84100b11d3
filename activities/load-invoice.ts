/** Loads an archived file into the warehouse, in one transaction, and quarantines it when it breaks a rule. */

import { heartbeat } from '@temporalio/activity';
import { holdRefused, rejection, releaseRefused } from '../warehouse/import/refused-files.ts';
import type { Discrepancy, LoadedRows, LoadOutcome, LoadRequest } from '../warehouse/warehouse.ts';
import { beatEvery } from './beat.ts';
import { countLoads } from './count-loads.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';
import { alertingFullDisk } from './full-disk-alert.ts';
import { attentionKey } from './park-invoice.ts';
import { alertOutranked, tellAnnouncement } from './tell-announcement.ts';
import { tellTotals } from './tell-totals.ts';
import { voidedAfterLoadKey } from './void-invoice.ts';

export type LoadInvoiceResult =
  | { readonly outcome: 'loaded' | 'already_loaded'; readonly shipments: number }
  | { readonly outcome: 'voided' }
  /** Nothing was loaded; `reason` says which line, column and rule. */
  | { readonly outcome: 'rejected' | 'contradicted'; readonly reason: string };

const HEARTBEAT_MS = 5_000;

/**
 * Cancellation is deliberately not listened to: a commit in progress ends first, and the void that cancelled comes
 * after it. A load that has not begun to commit sees the void inside its transaction.
 */
export function loadInvoice({
  warehouse,
  archive,
  quarantine,
  alerts,
  metrics,
  log,
  now,
}: WarehouseDependencies) {
  const counted = countLoads(metrics);
  return (request: LoadRequest): Promise<LoadInvoiceResult> =>
    translated(async () => {
      const beat = beatEvery(HEARTBEAT_MS, () => heartbeat());
      try {
        // What was heard of the invoice by now is in the ledger first: its header is what a file without a hash is proved by.
        await warehouse.ingestArchive({ deferFacts: true });
        const outcome = await counted(() => alertingFullDisk(alerts, () => warehouse.load(request)));
        if (outcome.outcome === 'rejected') {
          const { sizeBytes = 0 } = (await archive.file(request.sha256)) ?? {};
          const refused = { ...request, sizeBytes };
          await holdRefused(quarantine, refused, { ...outcome, at: now().toISOString() });
        }
        const result = summary(outcome);
        if (outcome.outcome === 'loaded') {
          const { version, shipments, billingCost, currencyCode } = outcome;
          const { invoiceId, sha256 } = request;
          log.info({ invoiceId, version, shipments, billingCost, currencyCode, sha256 }, 'invoice loaded');
        }
        if ('shipments' in outcome) await settle(request.invoiceId, outcome);
        return result;
      } finally {
        beat.stop();
      }
    });

  async function settle(invoiceId: string, loaded: LoadedRows): Promise<void> {
    const { discrepancies } = loaded;
    alertOutranked(alerts, invoiceId, loaded);
    alerts.resolve(attentionKey(invoiceId));
    alerts.resolve(voidedAfterLoadKey(invoiceId));
    tellAnnouncement(alerts, invoiceId, discrepancies);
    tellTotals(alerts, invoiceId, discrepancies);
    await releaseRefused(quarantine, invoiceId);
  }
}

function summary(outcome: LoadOutcome): LoadInvoiceResult {
  switch (outcome.outcome) {
    case 'loaded':
    case 'already_loaded':
      if (outcome.outrankedBy?.version === null) return { outcome: 'contradicted', reason: DENIED };
      return { outcome: outcome.outcome, shipments: outcome.shipments };
    case 'voided':
      return { outcome: 'voided' };
    case 'rejected':
      return { outcome: 'rejected', reason: rejection(outcome) };
    case 'contradicted':
      return { outcome: 'contradicted', reason: contradiction(outcome.discrepancies) };
  }
}

const DENIED =
  'The exported file is one that a person imported after the service had named the hash of another file, so it does not count. `billsync invoices use-version` makes it count; a new event or `billsync invoices retry` tries again.';

function contradiction(discrepancies: readonly Discrepancy[]): string {
  const list = discrepancies.map(({ rule, stated, found }) => `${rule} ${stated} stated, ${found} found`);
  return `The exported file has no announced hash and contradicts the invoice's header (${list.join('; ')}). Nothing was loaded. Once the service's file or its figures are corrected, a new event or \`billsync invoices retry\` tries again; \`billsync import\` takes a file from a person.`;
}
