/** Fetches CSV files into the archive, from storage or by export. */

import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { isBillingError } from '../billing/errors.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import { isWarehouseError } from '../warehouse/errors.ts';
import type { BillingActivities, DownloadCsvRequest, LoadInvoiceResult } from '../workflows/activities.ts';
import type { BillingDependencies } from './dependencies.ts';
import { translateErrors } from './failures.ts';
import { alertRefusedCredentials } from './service-calls.ts';

/** About seven thousand shipments. A larger file would delay other downloads while it is loaded. */
const MAX_LOADED_AT_ONCE_BYTES = 1024 * 1024;

export function createFileActivities({
  service,
  alerts,
  log,
  loadInvoice,
}: BillingDependencies): Pick<BillingActivities, 'downloadCsv' | 'exportCsv'> {
  return {
    downloadCsv: (request) =>
      translateErrors(async () => {
        try {
          const download = () => service.downloadCsv(request, { signal: cancellationSignal() });
          const file = await alertFullDisk(alerts, download);
          const { sha256, sizeBytes } = file;
          const loaded = await loadAtOnce(request, file);
          const fetched = { outcome: 'fetched', sha256, sizeBytes, announcedSha256: sha256 } as const;
          return loaded === null ? fetched : { ...fetched, loaded };
        } catch (error) {
          if (isBillingError(error, 'hash-mismatch', 'size-mismatch')) {
            return { outcome: 'mismatch', message: error.message };
          }
          for (const outcome of ['url-refused', 'host-not-allowed', 'impossible-announcement'] as const) {
            if (isBillingError(error, outcome)) return { outcome, message: error.message };
          }
          throw error;
        }
      }),

    exportCsv: ({ invoiceId, unless }) =>
      translateErrors(async () => {
        try {
          const options = { signal: cancellationSignal(), ...(unless === undefined ? {} : { unless }) };
          const { sha256, sizeBytes, tag } = await alertRefusedCredentials(alerts, () =>
            alertFullDisk(alerts, () => service.exportCsv(invoiceId, options)),
          );
          return { outcome: 'fetched', sha256, sizeBytes, ...(tag === undefined ? {} : { tag }) };
        } catch (error) {
          if (isBillingError(error, 'unknown-invoice')) return { outcome: 'not-found' };
          if (isBillingError(error, 'not-modified')) return { outcome: 'not-modified' };
          throw error;
        }
      }),
  };

  /** @returns null for a large file, and after a failure: the workflow then loads it with the retries of a load */
  async function loadAtOnce(
    { invoiceId, location, source, eventId }: DownloadCsvRequest,
    { sha256, sizeBytes }: ArchivedFile,
  ): Promise<LoadInvoiceResult | null> {
    if (loadInvoice === undefined || sizeBytes > MAX_LOADED_AT_ONCE_BYTES) return null;
    const announced = location.fileHashSha256;
    try {
      return await loadInvoice({
        ...{ invoiceId, sha256, source, announcedSha256: sha256, eventId },
        ...(announced === sha256 ? {} : { encodedSha256: announced }),
        workflowRunId: activityInfo().workflowExecution?.runId ?? null,
      });
    } catch (error) {
      log.debug({ invoiceId, sha256, err: error }, 'a downloaded file is loaded separately');
      return null;
    }
  }
}

/** The disk need not be full: smaller files may still fit, and resolve the alert. */
export async function alertFullDisk<T>(alerts: Alerts, work: () => Promise<T>): Promise<T> {
  try {
    const done = await work();
    alerts.resolve('disk/no-room');
    return done;
  } catch (error) {
    if (isBillingError(error, 'disk-full') || isWarehouseError(error, 'no-room')) {
      alerts.raise({
        key: 'disk/no-room',
        title: 'The disk has too little space for a file of an invoice',
        detail: `${error.message} Free some space; loading then continues automatically.`,
      });
    }
    throw error;
  }
}
