/** What commands say to the workflows: over the Temporal that the settings or the data folder name. */

import type { Client } from '@temporalio/client';
import { openArchive } from '../archive/open-archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { createLogger } from '../lib/log/log.ts';
import type { ReportRow } from '../reports/report-result.ts';
import type { ReplayOptions } from '../webhook/requeue.ts';
import type { InvoiceAddress } from '../workflows/client/invoice-client.ts';

/** @throws TemporalUnreachableError (exit 5) */
export async function withTemporal<T>(settings: Settings, work: (client: Client) => Promise<T>): Promise<T> {
  const { connectTemporal } = await import('../lib/temporal/connect.ts');
  const connection = await connectTemporal(settings, { log: commandLog(settings) });
  try {
    return await work(connection.client);
  } finally {
    await connection.close();
  }
}

/** Commands speak through their output; what libraries log is only of interest when it is bad. */
export function commandLog(settings: Settings) {
  return createLogger({ ...settings, log: { ...settings.log, level: 'error' } }, 'command');
}

/**
 * Asks the invoice's workflow to try again, starting one when none is open.
 *
 * @throws TemporalUnreachableError nothing was asked
 */
export async function retryOne(settings: Settings, address: InvoiceAddress): Promise<void> {
  const { retryInvoice } = await import('../workflows/client/invoice-client.ts');
  await withTemporal(settings, (client) => retryInvoice(client, settings, address));
}

/**
 * Who the invoice belongs to: as an event told, else as the account of whoever asks, since one that was fetched by its id
 * came without an event. @throws CliError (exit 2), or what keeps the service from telling
 */
export async function addressOf(settings: Settings, invoice: ReportRow): Promise<InvoiceAddress> {
  const { learnPartnerId } = await import('./partner-id.ts');
  const partnerId = invoice.partner_id ?? (await learnPartnerId(settings));
  return { partnerId: String(partnerId), invoiceId: String(invoice.invoice_id) };
}

export interface ReplayRequest extends Omit<ReplayOptions, 'archive' | 'send'> {
  readonly dryRun: boolean;
}

/** @returns how many events match, and were sent unless it was a dry run */
export async function replay(settings: Settings, request: ReplayRequest): Promise<number> {
  const { replayEvents } = await import('../webhook/requeue.ts');
  const { sendInvoiceEvent } = await import('../workflows/client/invoice-client.ts');
  const archive = await openArchive(settings);
  try {
    if (request.dryRun) return (await replayEvents({ ...request, archive, send: async () => {} })).matched;
    return await withTemporal(settings, async (client) => {
      const send: ReplayOptions['send'] = (event) => sendInvoiceEvent(client, settings, event);
      return (await replayEvents({ ...request, archive, send })).sent;
    });
  } finally {
    await archive.close();
  }
}
