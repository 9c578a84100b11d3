/** Tells a person when the rows that count contradict what the invoice states of itself. */

import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Discrepancy } from '../warehouse/warehouse.ts';

const WORDS: Readonly<Record<string, string>> = {
  'shipment-count': 'shipments',
  'total-amount': 'total',
  currency: 'currency',
};

/** After each load of the invoice; takes the alert back when they agree. */
export function tellTotals(alerts: Alerts, invoiceId: string, discrepancies: readonly Discrepancy[]): void {
  const key = `totals/${invoiceId}` as const;
  const differs = discrepancies.filter(({ rule }) => rule in WORDS);
  if (differs.length === 0) {
    alerts.resolve(key);
    return;
  }
  const what = differs.map(
    ({ rule, stated, found }) => `${WORDS[rule]} ${stated} stated, ${found} in its file`,
  );
  alerts.raise({
    key,
    title: `Invoice ${invoiceId}: its file contradicts its totals`,
    detail: `${what.join('; ')}. The file's rows are loaded and count. Ask the billing service which of the two it means; \`billsync invoices show ${invoiceId}\` has both.`,
  });
}
