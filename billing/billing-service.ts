import type { ComparedClock } from '../lib/health/clocks.ts';
import type { ArchivedFile, FileTag } from '../lib/wire/csv-file.ts';
import type { ExportLocation, InvoiceHeader } from '../lib/wire/invoice-event.ts';
import type { WebhookStatus } from '../lib/wire/names.ts';
import type { InvoiceDetails } from '../lib/wire/parse-details.ts';
import { type BillingErrorCode, isBillingError } from './errors.ts';

export type { InvoiceDetails } from '../lib/wire/parse-details.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface ExportedFile extends ArchivedFile {
  readonly tag?: FileTag;
}

export interface FetchExportOptions extends CallOptions {
  readonly unless?: FileTag;
}

export interface BillingService {
  /** Ping (spec 4.2) is optional for the service, so only `doctor` calls it. */
  ping(options?: CallOptions): Promise<void>;
  /** The remaining seconds are null with an API key, which does not expire. */
  fetchToken(options?: CallOptions): Promise<{ readonly secondsLeft: number | null }>;
  partnerIds(): readonly string[];
  /** Requests a new URL of the file (spec 4.3). @throws BillingError `not-exported`, `refused`, `forbidden`, … */
  regenerateUrl(invoiceId: string, options?: CallOptions): Promise<ExportLocation>;
  /** Requests the details of an invoice (spec 4.4). @throws BillingError `unknown-invoice`, … */
  lookUpInvoice(invoiceId: string, options?: CallOptions): Promise<InvoiceDetails>;
  /**
   * Checks the announced size and hash (spec 6, rule 8); a file that the archive has is not downloaded again.
   * @throws BillingError `host-not-allowed`, `url-refused` (request another URL), `hash-mismatch`, `size-mismatch`, …
   */
  downloadCsv(
    request: {
      readonly invoiceId: string;
      readonly location: ExportLocation;
      readonly source: 'event' | 'regenerate';
    },
    options?: CallOptions,
  ): Promise<ArchivedFile>;
  /**
   * Downloads the file without a URL (spec 4.5), for which no hash is announced. @throws BillingError `unknown-invoice`,
   * `not-modified` (see `unless`), …
   */
  exportCsv(invoiceId: string, options?: FetchExportOptions): Promise<ExportedFile>;
  mayDownloadFrom(url: string): boolean;
  readonly clock: ComparedClock;
  close(): Promise<void>;
}

/** The partner for which the service answers; null when the token names none yet, or several. */
export function partnerAskedFor(service: Pick<BillingService, 'partnerIds'>): string | null {
  const [partnerId = null, ...others] = service.partnerIds();
  return others.length === 0 ? partnerId : null;
}

export interface DescribedInvoice {
  readonly status: WebhookStatus | null;
  readonly header: Partial<InvoiceHeader>;
  readonly partnerId: string | null;
  /** The hash is null when the service has no file, or cannot provide it. */
  readonly hash: { readonly sha256: string; readonly sizeBytes: number } | null;
}

/** Returns null when the service does not know the invoice. */
export async function describeInvoice(
  service: BillingService,
  invoiceId: string,
): Promise<DescribedInvoice | null> {
  try {
    const { status, header } = await service.lookUpInvoice(invoiceId);
    const partnerId = partnerAskedFor(service);
    return { status, header, partnerId, hash: status === 'voided' ? null : await hashOf(service, invoiceId) };
  } catch (error) {
    if (isBillingError(error, 'unknown-invoice')) return null;
    throw error;
  }
}

async function hashOf(service: BillingService, invoiceId: string): Promise<DescribedInvoice['hash']> {
  try {
    const { fileHashSha256: sha256, fileSizeBytes: sizeBytes } = await service.regenerateUrl(invoiceId);
    return /^[0-9a-f]{64}$/.test(sha256) && Number.isSafeInteger(sizeBytes) ? { sha256, sizeBytes } : null;
  } catch (error) {
    if (isBillingError(error, ...WITHOUT_HASH)) return null;
    throw error;
  }
}

const WITHOUT_HASH: readonly BillingErrorCode[] = [
  'not-exported',
  'not-ready',
  'refused',
  'forbidden',
  'server-fault',
];
