/** Alerts about files whose hash is not the one that the service named. */

import type { Alert } from '../lib/alerts/alert-store.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Discrepancy, LoadedRows } from '../warehouse/warehouse.ts';

const RULES: readonly string[] = ['announced-hash', 'announced-size'];

/** Whether the file that counts differs from what the service named, in hash or size. */
export function differsFromAnnouncement({ rule }: Discrepancy): boolean {
  return RULES.includes(rule);
}

/** @param discrepancies those that differ from the announcement */
export function announcementAlert(invoiceId: string, discrepancies: readonly Discrepancy[]): Alert {
  const what = discrepancies.map(
    ({ rule, stated, found }) => `${rule.replace('announced-', '')} ${stated} announced, ${found} came`,
  );
  return {
    key: `announcement/${invoiceId}`,
    title: `Invoice ${invoiceId}: another file came than its event announced`,
    detail: `${what.join('; ')}. What came is loaded and counts. Ask the billing service which of the two it means; \`billsync invoices show ${invoiceId}\` has both.`,
  };
}

/** After each load of the invoice, since only then both are known; takes the alert back when they agree. */
export function tellAnnouncement(
  alerts: Alerts,
  invoiceId: string,
  discrepancies: readonly Discrepancy[],
): void {
  const differs = discrepancies.filter(differsFromAnnouncement);
  if (differs.length === 0) alerts.resolve(`announcement/${invoiceId}`);
  else alerts.raise(announcementAlert(invoiceId, differs));
}

/** Alerts when a file was loaded that does not count, because its proof is weaker; a load that counts resolves it. */
export function alertOutranked(
  alerts: Alerts,
  invoiceId: string,
  { version, outrankedBy }: Pick<LoadedRows, 'version' | 'outrankedBy'>,
): void {
  const key = `outranked/${invoiceId}` as const;
  if (outrankedBy === null) {
    alerts.resolve(key);
    return;
  }
  const by = outrankedBy.version === null ? 'no version' : `version ${outrankedBy.version}`;
  alerts.raise({
    key,
    title: `Invoice ${invoiceId}: a file came that does not count`,
    detail: `Version ${version} is not the file with the hash ${outrankedBy.sha256}, which the service named; ${by} counts. If the new file is right: \`billsync invoices use-version ${invoiceId} ${version} --reason WHY\`.`,
  });
}
