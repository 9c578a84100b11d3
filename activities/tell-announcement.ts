/** Tells a person when the file that counts is not the one that its event announced. */

import type { Alerts } from '../ops/alerts.ts';
import type { Discrepancy } from '../warehouse/warehouse.ts';

const RULES: readonly string[] = ['announced-hash', 'announced-size'];

/** After each load of the invoice, since only then both are known; takes the alert back when they agree. */
export function tellAnnouncement(
  alerts: Alerts,
  invoiceId: string,
  discrepancies: readonly Discrepancy[],
): void {
  const key = `announcement/${invoiceId}` as const;
  const differs = discrepancies.filter(({ rule }) => RULES.includes(rule));
  if (differs.length === 0) {
    alerts.resolve(key);
    return;
  }
  const what = differs.map(
    ({ rule, stated, found }) => `${rule.replace('announced-', '')} ${stated} announced, ${found} came`,
  );
  alerts.raise({
    key,
    title: `Invoice ${invoiceId}: another file came than its event announced`,
    detail: `${what.join('; ')}. What came is loaded and counts. Ask the billing service which of the two it means; \`billsync invoices show ${invoiceId}\` has both.`,
  });
}
