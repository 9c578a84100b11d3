import type { Client } from '@temporalio/client';
import type { Archive } from '../archive/archive.ts';
import { openArchive } from '../archive/open-archive.ts';
import { requireService, type Settings } from '../lib/config/settings.ts';
import { createLogger } from '../lib/log/log.ts';
import { isAlive } from '../lib/processes.ts';
import type { ReportRow } from '../reports/cells.ts';
import type { ReplayOptions } from '../webhook/requeue.ts';
import type { InvoiceAddress } from '../workflows/client/invoice-client.ts';
import { CliError, EXIT } from './errors.ts';
import { readRunFile } from './roles/run-file.ts';

export async function withArchive<T>(settings: Settings, work: (archive: Archive) => Promise<T>): Promise<T> {
  const archive = await openArchive(settings);
  return work(archive).finally(() => archive.close());
}

export async function withTemporal<T>(settings: Settings, work: (client: Client) => Promise<T>): Promise<T> {
  const { connectTemporal } = await import('../lib/temporal/connect.ts');
  const connection = await connectTemporal(settings, { log: commandLog(settings) });
  try {
    return await work(connection.client);
  } finally {
    await connection.close();
  }
}

export function commandLog(settings: Settings) {
  return createLogger({ ...settings, log: { ...settings.log, level: 'error' } }, 'command');
}

export async function retryOneInvoice(settings: Settings, address: InvoiceAddress): Promise<void> {
  const { retryInvoice } = await import('../workflows/client/invoice-client.ts');
  await withTemporal(settings, (client) => retryInvoice(client, settings, address));
}

export async function addressOf(settings: Settings, invoice: ReportRow): Promise<InvoiceAddress> {
  const partnerId = invoice.partner_id ?? (await partnerIdOf(settings));
  return { partnerId: String(partnerId), invoiceId: String(invoice.invoice_id) };
}

export async function replayArchived(
  settings: Settings,
  request: Omit<ReplayOptions, 'archive' | 'send'> & { readonly dryRun: boolean },
): Promise<number> {
  const { replayEvents } = await import('../webhook/requeue.ts');
  const { sendInvoiceEvent } = await import('../workflows/client/invoice-client.ts');
  return withArchive(settings, async (archive) => {
    if (request.dryRun) return replayEvents({ ...request, archive, send: async () => {} });
    return withTemporal(settings, async (client) => {
      const send: ReplayOptions['send'] = (event) => sendInvoiceEvent(client, settings, event);
      return replayEvents({ ...request, archive, send });
    });
  });
}

export async function partnerIdOf(settings: Settings): Promise<string> {
  if (settings.partnerId !== null) return settings.partnerId;
  const known = partnerIdOfRunning(settings) ?? (await publishedPartnerId(settings));
  if (known !== null) return known;
  requireService(settings);
  const { createBillingService } = await import('../billing/client.ts');
  const partnerId = await withArchive(settings, async (archive) => {
    const service = createBillingService({ settings, archive });
    await service.fetchToken().finally(() => service.close());
    return service.partnerIds()[0];
  });
  if (partnerId !== undefined) return partnerId;
  throw new CliError(EXIT.usage, 'the token names no partner', { hint: 'set BILLSYNC_PARTNER_ID' });
}

function partnerIdOfRunning(settings: Settings): string | null {
  const up = readRunFile(settings, 'up');
  return up?.partnerId !== undefined && isAlive(up.pid) ? up.partnerId : null;
}

async function publishedPartnerId(settings: Settings): Promise<string | null> {
  const { withPublishedIfAny: ifPublished } = await import('./published.ts');
  const partners = await ifPublished(settings, (published) => published.query('partners'));
  return partners?.length === 1 ? String(partners[0]?.partner_id) : null;
}
