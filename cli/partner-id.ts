/** Whose invoices these are: configured, or learned from a token, as every role does. */

import { openArchive } from '../archive/open-archive.ts';
import { requireService, type Settings } from '../lib/config/settings.ts';

import { isAlive } from '../lib/processes.ts';
import { CliError, EXIT } from './errors.ts';
import { openPublished } from './published.ts';
import { readRunFile } from './roles/run-file.ts';

/** @throws SettingsError, BillingError */
export async function learnPartnerId(settings: Settings): Promise<string> {
  if (settings.partnerId !== null) return settings.partnerId;
  const known = partnerIdOfRunning(settings) ?? (await knownPartnerId(settings));
  if (known !== null) return known;
  requireService(settings);
  const { createBillingService } = await import('../billing/client.ts');
  const archive = await openArchive(settings);
  const service = createBillingService({ settings, archive });
  try {
    await service.fetchToken();
    const [partnerId] = service.partnerIds();
    if (partnerId !== undefined) return partnerId;
  } finally {
    await service.close();
    await archive.close();
  }
  throw new CliError(EXIT.usage, 'the token does not say whose invoices these are', {
    hint: 'set BILLSYNC_PARTNER_ID',
  });
}

/** `up --sandbox` knows an account that no setting here names. */
function partnerIdOfRunning(settings: Settings): string | null {
  const up = readRunFile(settings, 'up');
  return up?.partnerId !== undefined && isAlive(up.pid) ? up.partnerId : null;
}

/** A folder that has heard events knows; then no further settings are needed beside a running `up`. */
async function knownPartnerId(settings: Settings): Promise<string | null> {
  try {
    const published = await openPublished(settings);
    try {
      const [row, ...others] = await published.ask('partners');
      return row !== undefined && others.length === 0 ? String(row.partner_id) : null;
    } finally {
      published.close();
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'NotPublishedError') return null;
    throw error;
  }
}
