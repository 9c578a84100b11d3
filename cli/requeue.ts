import type { Settings } from '../lib/config/settings.ts';
import { dataFolder } from '../lib/files/data-folder.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import { openInbox } from '../webhook/inbox/inbox.ts';
import { requeueDelivery } from '../webhook/requeue.ts';
import { CliError, EXIT } from './errors.ts';
import { publishedInvoice } from './find-invoices.ts';
import { addressOf, retryOneInvoice } from './with-temporal.ts';

export interface Requeue {
  readonly settings: Settings;
  readonly quarantine: Quarantine;
  readonly ids: readonly string[];
}

export async function requeue({ settings, quarantine, ids }: Requeue): Promise<readonly string[]> {
  const inbox = await openInbox(dataFolder(settings.dataDir).inbox);
  const partnerIds = () => (settings.partnerId === null ? [] : [settings.partnerId]);
  const results: string[] = [];
  const refused: string[] = [];
  for (const id of ids) {
    const result = await requeueDelivery(id, { settings, quarantine, inbox, partnerIds });
    switch (result.outcome) {
      case 'requeued':
        results.push(`${id}: event ${result.eventId} is in the inbox again.`);
        break;
      case 'duplicate':
        results.push(`${id}: event ${result.eventId} had arrived again and is known.`);
        break;
      case 'not-a-delivery':
        results.push(await requeueFile(id, { settings, quarantine }));
        break;
      case 'not-found':
        refused.push(`${id} no longer exists`);
        break;
      case 'still-refused':
        refused.push(`${id}: ${result.reason}`);
    }
  }
  if (refused.length === 0) return results;
  throw new CliError(EXIT.rejected, `${refused.length} of ${ids.length} are still refused`, {
    subject: refused.join('; '),
    hint: 'the cause is not fixed: `billsync quarantine show ID` shows it',
  });
}

/**
 * A quarantined file cannot be checked again with another result, because its bytes never change; instead its invoice requests a
 * new file.
 */
async function requeueFile(id: string, { settings, quarantine }: Omit<Requeue, 'ids'>): Promise<string> {
  const invoiceId = (await quarantine.show(id))?.item.invoiceId;
  if (invoiceId === null || invoiceId === undefined)
    return `${id}: belongs to no invoice; import a corrected file instead.`;
  const invoice = await publishedInvoice(settings, invoiceId);
  await retryOneInvoice(settings, await addressOf(settings, invoice));
  return `${id}: invoice ${String(invoice.invoice_number)} is retried with a new file.`;
}
