/** What the rest of billsync may ask of the billing service; `billing/client.ts` answers it over HTTPS. */

import type { ComparedClock } from '../lib/health/clocks.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import type { ExportLocation, InvoiceHeader, WebhookStatus } from '../lib/wire/names.ts';

/** The invoice details answer, read leniently, since its shape is not shown (spec 4.4). */
export interface InvoiceDetails {
  readonly status: WebhookStatus | null;
  /** The status as the service wrote it when nobody knows the word; null otherwise. */
  readonly unknownStatus: string | null;
  /** Whatever of the header was recognised. */
  readonly header: Partial<InvoiceHeader>;
}

/** How far a download is; carried by heartbeats. */
export interface DownloadProgress {
  readonly bytesDone: number;
  readonly bytesTotal: number | null;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface FetchFileOptions extends CallOptions {
  readonly onProgress?: (progress: DownloadProgress) => void;
}

/** What HTTP tells versions of a file apart by (RFC 9110); null: the service did not say. */
export interface FileTag {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

export interface ExportedFile extends ArchivedFile {
  /** Missing when the service told none. */
  readonly tag?: FileTag;
}

export interface FetchExportOptions extends FetchFileOptions {
  /** Only a file that is another one than this is sent for. */
  readonly unless?: FileTag;
}

export interface BillingService {
  /** Calls ping with our credentials (spec 4.2); optional, so only a person's check asks it. */
  ping(options?: CallOptions): Promise<void>;
  /** Makes sure a token is at hand, which is all that a call needs; null with an API key, which does not expire. */
  fetchToken(options?: CallOptions): Promise<{ readonly secondsLeft: number | null }>;
  /** The partner of this account: configured, or learned from the token; empty until one was had. */
  partnerIds(): readonly string[];
  /** Spec 4.3. @throws NotExportedError (404), RefusedError (400, 403), … see billing/errors.ts */
  regenerateUrl(invoiceId: string, options?: CallOptions): Promise<ExportLocation>;
  /** Spec 4.4. @throws UnknownInvoiceError (404) */
  lookUpInvoice(invoiceId: string, options?: CallOptions): Promise<InvoiceDetails>;
  /**
   * Downloads, hashes, scans and archives the file of an export location (spec 6, rule 8). The announced size and
   * hash decide; a file that the archive has under that hash is not downloaded again.
   * @throws HostNotAllowedError when the URL's host may not be used straight from a webhook
   * @throws UrlRefusedError storage said 400, 401, 403 or 404: regenerate
   * @throws HashMismatchError, SizeMismatchError
   */
  downloadCsv(
    request: {
      readonly invoiceId: string;
      readonly location: ExportLocation;
      readonly source: 'event' | 'regenerate';
    },
    options?: FetchFileOptions,
  ): Promise<ArchivedFile>;
  /**
   * Spec 4.5. There is no announced hash; `load` proves it by the header.
   * @throws UnknownInvoiceError (404), NotModifiedError the service has the file of `unless` still
   */
  exportCsv(invoiceId: string, options?: FetchExportOptions): Promise<ExportedFile>;
  /** Whether presigned URLs of that host may be used straight from a webhook (BILLSYNC_DOWNLOAD_HOSTS). */
  mayDownloadFrom(url: string): boolean;
  readonly clock: ComparedClock;
  close(): Promise<void>;
}
