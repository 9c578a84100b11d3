/** An uploaded file: what loading it would come to, and loading it. The worker does both, as for `billsync import`. */

import { rm } from 'node:fs/promises';
import type { Described, Performed, RequestedAction } from '../../dashboard/operator/operator-work.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { printable } from '../../lib/wire/text.ts';
import type { Imported } from '../../warehouse/import/import-file.ts';
import { withTemporal } from '../ask-temporal.ts';
import { whyNotLoaded } from '../commands/import/print-imported.ts';
import { CliError, EXIT } from '../errors.ts';
import { counted } from '../terminal/output.ts';
import { pageOfInvoice } from './named-invoices.ts';

type Upload = Extract<RequestedAction, { readonly action: 'import' }>;

/** @throws CliError it would not be loaded; the file is removed then */
export async function checkUpload(settings: Settings, requested: Upload): Promise<Described> {
  try {
    const checked = await ask(settings, requested, true);
    if (checked.outcome.outcome !== 'checked' || checked.outcome.outrankedBy !== null)
      throw refusal(requested, checked);
    const { shipments, billingCost, currencyCode, proof } = checked.outcome;
    const consequences = [
      `${printable(requested.name)} holds ${counted(shipments, 'shipment')} of invoice ${checked.invoiceId}, ${billingCost} ${currencyCode ?? ''} in all; proof: ${proof}.`,
      'They count in every total from then on, in place of an earlier file of the invoice.',
    ];
    return {
      ...{ title: 'Import the file', consequences, label: 'Import', reasonLabel: null, command: 'import' },
      ...{
        target: [printable(requested.name), checked.sha256, String(checked.invoiceId)],
        back: '/operator',
      },
    };
  } catch (error) {
    await rm(requested.path, { force: true });
    throw error;
  }
}

export async function importUpload(settings: Settings, requested: Upload): Promise<Performed> {
  try {
    const imported = await ask(settings, requested, false);
    const { outcome } = imported;
    if (
      (outcome.outcome !== 'loaded' && outcome.outcome !== 'already_loaded') ||
      outcome.outrankedBy !== null
    )
      throw refusal(requested, imported);
    const detail = `${printable(requested.name)}: ${outcome.outcome.replace('_', ' ')}, ${counted(outcome.shipments, 'shipment')}, ${outcome.billingCost} ${outcome.currencyCode ?? ''}.`;
    return { detail, next: imported.invoiceId === null ? null : pageOfInvoice(imported.invoiceId) };
  } finally {
    await rm(requested.path, { force: true });
  }
}

async function ask(settings: Settings, { path }: Upload, dryRun: boolean): Promise<Imported> {
  const { requestImport } = await import('../../workflows/client/writer-client.ts');
  return withTemporal(settings, (client) =>
    requestImport(client, settings, { path, invoiceId: null, dryRun }),
  );
}

function refusal({ name }: Upload, imported: Imported): CliError {
  const { outcome } = imported;
  const isOutranked = 'shipments' in outcome && outcome.outrankedBy !== null;
  const what = isOutranked ? 'does not count' : `is not loaded: ${outcome.outcome.replace('_', ' ')}`;
  return new CliError(EXIT.rejected, `${printable(name)} ${what}`, {
    subject: whyNotLoaded(outcome, imported) ?? undefined,
  });
}
