/** Downloads an announced CSV into the archive and proves it by size and SHA-256 (spec 6, rule 8); a small one is loaded at once. */

import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { isBillingError } from '../billing/errors.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import type { ExportLocation } from '../lib/wire/names.ts';
import type { BillingDependencies } from './dependencies.ts';
import { translated } from './failures.ts';
import { alertingFullDisk } from './full-disk-alert.ts';
import type { LoadInvoiceResult } from './load-invoice.ts';

export interface DownloadCsvRequest {
  readonly invoiceId: string;
  readonly location: ExportLocation;
  readonly source: 'event' | 'regenerate';
  /** The event that announced the file; null: none did. */
  readonly eventId: string | null;
}

export type DownloadCsvResult =
  | {
      readonly outcome: 'fetched';
      readonly sha256: string;
      readonly sizeBytes: number;
      /** The announced hash, or, where that was the hash of an encoded file, the one of the file itself. */
      readonly announcedSha256?: string;
      /** What came of loading it; missing: that is still to be done, and fails or not by itself. */
      readonly loaded?: LoadInvoiceResult;
    }
  /** Storage said 400, 401, 403 or 404: this URL is of no more use. */
  | { readonly outcome: 'url-refused'; readonly message: string }
  /** An event's URL points to a host that is not on the list: get a URL from the service itself. */
  | { readonly outcome: 'host-not-allowed'; readonly message: string }
  /** No file can be as it was announced; a fresh announcement may be sound. */
  | { readonly outcome: 'impossible-announcement'; readonly message: string }
  /** The bytes are not the announced ones; the message names both hashes or sizes. */
  | { readonly outcome: 'mismatch'; readonly message: string };

/** About seven thousand shipments. */
const AT_ONCE_BYTES = 1024 * 1024;

export function downloadCsv({ service, alerts, log, loadInvoice }: BillingDependencies) {
  return (request: DownloadCsvRequest): Promise<DownloadCsvResult> =>
    translated(async () => {
      try {
        const options = { signal: cancellationSignal(), onProgress: heartbeat };
        const download = () => service.downloadCsv(request, options);
        const file = await alertingFullDisk(alerts, download);
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
    });

  /** A large file would keep others from being brought, and what fails has its own patience: both are a load by itself. */
  async function loadAtOnce(
    { invoiceId, location, source, eventId }: DownloadCsvRequest,
    file: ArchivedFile,
  ): Promise<LoadInvoiceResult | null> {
    if (loadInvoice === undefined || file.sizeBytes > AT_ONCE_BYTES) return null;
    const { sha256 } = file;
    const announced = location.fileHashSha256;
    try {
      return await loadInvoice({
        ...{ invoiceId, sha256, source, announcedSha256: sha256, eventId },
        ...(announced === sha256 ? {} : { encodedSha256: announced }),
        workflowRunId: activityInfo().workflowExecution?.runId ?? null,
      });
    } catch (error) {
      log.debug({ invoiceId, sha256, err: error }, 'a file that was downloaded is loaded separately');
      return null;
    }
  }
}
