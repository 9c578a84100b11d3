/** `invoices show --diff`: what the newest file of an invoice says differently from the one before. */

import type { Settings } from '../../../lib/config/settings.ts';
import type { ReportRow } from '../../../reports/report-result.ts';
import { diffVersions } from '../../../warehouse/published-copy.ts';
import { CliError, EXIT } from '../../errors.ts';
import { publishedPath } from '../../published.ts';
import type { Output } from '../../terminal/output.ts';
import { invoiceName } from './invoice-page.ts';

export interface DiffPage {
  readonly settings: Settings;
  readonly output: Output;
  readonly invoice: ReportRow;
}

/** @throws CliError (exit 3) when there is only one version */
export async function printDiff({ settings, output, invoice }: DiffPage): Promise<void> {
  const diff = await diffVersions({
    databasePath: publishedPath(settings),
    invoiceId: String(invoice.invoice_id),
  });
  const { from, to } = diff;
  if (from === null || to === null) {
    const name = invoiceName(invoice);
    const has = diff.versions.length === 0 ? 'no file that was loaded' : 'only one version';
    throw new CliError(EXIT.nothingMatched, `invoice ${name} has ${has}, so there is nothing to compare`, {
      hint: `another file of it makes another version; \`billsync invoices show ${name}\` shows what there is`,
    });
  }
  const rows = diff.changes.map((change) => ({
    change: change.change,
    tracking_number: change.trackingNumber,
    ship_date: change.shipDate,
    carrier: change.carrier,
    service_level: change.serviceLevel,
    currency_code: change.currencyCode,
    old_billing_cost: change.oldBillingCost,
    new_billing_cost: change.newBillingCost,
  }));
  const count = (kind: string) => rows.filter(({ change }) => change === kind).length;
  output.rows(rows, [
    { title: 'change', value: (row) => row.change },
    { title: 'tracking number', value: (row) => row.tracking_number },
    { title: 'ship date', value: (row) => row.ship_date },
    { title: 'carrier', value: (row) => row.carrier },
    { title: 'was', value: (row) => row.old_billing_cost, align: 'right' },
    { title: 'is', value: (row) => row.new_billing_cost, align: 'right' },
    { title: 'currency', value: (row) => row.currency_code },
  ]);
  output.note(
    `Version ${from.version} (${from.billingCost} ${from.currencyCode}) to ${to.version} (${to.billingCost} ${to.currencyCode}): ` +
      `${count('added')} rows added, ${count('removed')} removed, ${count('changed')} changed in cost.`,
  );
}
