/** Alerts about an invoice's file after a load: it differs from the announcement, from the invoice's totals, or does not count. */

import type { Alert } from '../lib/alerts/alert-store.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { AlertKey } from '../lib/alerts/runbook/runbook.ts';
import type { Discrepancy, LoadedRows } from '../warehouse/warehouse.ts';

export function attentionKey(invoiceId: string): AlertKey {
  return `attention/${invoiceId}`;
}

/** Resolved when the invoice counts again, or by a person. */
export function voidedAfterLoadKey(invoiceId: string): AlertKey {
  return `voided-after-load/${invoiceId}`;
}

const ANNOUNCEMENT_RULES: readonly string[] = ['announced-hash', 'announced-size'];

/** Whether the discrepancy is between the file that counts and its announcement. */
export function differsFromAnnouncement({ rule }: Discrepancy): boolean {
  return ANNOUNCEMENT_RULES.includes(rule);
}

/** @param discrepancies those that differ from the announcement */
export function announcementAlert(invoiceId: string, discrepancies: readonly Discrepancy[]): Alert {
  const differences = discrepancies.map(
    ({ rule, stated, found }) => `${rule.replace('announced-', '')} ${stated} announced, ${found} received`,
  );
  return {
    key: `announcement/${invoiceId}`,
    title: `Invoice ${invoiceId}: the file differs from the announced one`,
    detail: `${differences.join('; ')}. The received file is loaded and counts. Ask the billing service which of the two is right; \`billsync invoices show ${invoiceId}\` shows both.`,
  };
}

/** Raised or resolved after each load, because only then both sides are known. */
export function updateAnnouncementAlert(
  alerts: Alerts,
  invoiceId: string,
  discrepancies: readonly Discrepancy[],
): void {
  const differing = discrepancies.filter(differsFromAnnouncement);
  if (differing.length === 0) alerts.resolve(`announcement/${invoiceId}`);
  else alerts.raise(announcementAlert(invoiceId, differing));
}

/** A file with a weaker proof was loaded and does not count. */
export function updateOutrankedAlert(
  alerts: Alerts,
  invoiceId: string,
  { version, outrankedBy }: Pick<LoadedRows, 'version' | 'outrankedBy'>,
): void {
  const key = `outranked/${invoiceId}` as const;
  if (outrankedBy === null) {
    alerts.resolve(key);
    return;
  }
  const counting = outrankedBy.version === null ? 'no version' : `version ${outrankedBy.version}`;
  alerts.raise({
    key,
    title: `Invoice ${invoiceId}: a file was received that does not count`,
    detail: `Version ${version} is not the file with the hash ${outrankedBy.sha256}, which the service named; ${counting} counts. If the new file is right: \`billsync invoices use-version ${invoiceId} ${version} --reason WHY\`.`,
  });
}

const TOTALS: Readonly<Record<string, string>> = {
  'shipment-count': 'shipments',
  'total-amount': 'total',
  currency: 'currency',
};

export function updateTotalsAlert(
  alerts: Alerts,
  invoiceId: string,
  discrepancies: readonly Discrepancy[],
): void {
  const key = `totals/${invoiceId}` as const;
  const differing = discrepancies.filter(({ rule }) => rule in TOTALS);
  if (differing.length === 0) {
    alerts.resolve(key);
    return;
  }
  const differences = differing.map(
    ({ rule, stated, found }) => `${TOTALS[rule]} ${stated} stated, ${found} in its file`,
  );
  alerts.raise({
    key,
    title: `Invoice ${invoiceId}: its file contradicts its totals`,
    detail: `${differences.join('; ')}. The file's rows are loaded and count. Ask the billing service which of the two is right; \`billsync invoices show ${invoiceId}\` shows both.`,
  });
}
