/**
 * Fetches a finalized invoice's CSV into the archive: one series of attempts, from storage and then by export.
 *
 * Storage: at most three URLs in a series. A refused URL is regenerated; differing bytes are downloaded again, then
 * regenerated, then downloaded again; an impossible announcement is regenerated once. When storage fails for good, the
 * file is exported (spec 4.5), for which no hash is announced. After both, the result is `retry` or `operator`.
 */

import type { FileTag } from '../lib/wire/csv-file.ts';
import type { ExportLocation, FileSource } from '../lib/wire/names.ts';
import { serviceError } from '../lib/wire/service-errors.ts';
import type { DownloadCsvRequest, LoadInvoiceResult } from './activities.ts';
import type { InvoiceActivities } from './activity-options.ts';
import { failureOf, reactionTo } from './failure.ts';

export interface FetchedFile {
  readonly outcome: 'fetched';
  readonly sha256: string;
  readonly source: Exclude<FileSource, 'file'>;
  /** null for an export: the load proves it by the header. */
  readonly announcedSha256: string | null;
  /** The announced hash if it was that of the encoded file. */
  readonly encodedSha256: string | null;
  /** Identifies an export without its bytes; null: another source, or the service sent none. */
  readonly tag: FileTag | null;
  /** Why the announced file was replaced by an export, with both hashes. */
  readonly mismatch: string | null;
  /** null: the file is still to be loaded. */
  readonly loaded: LoadInvoiceResult | null;
}

/** `retry`: another series after a pause. `operator`: a retry alone changes nothing. */
export interface MissingFile {
  readonly outcome: 'retry' | 'operator';
  readonly code: string;
  readonly message: string;
  /** The activity that failed. */
  readonly activity?: string;
}

export interface FileRequest {
  readonly invoiceId: string;
  /** From the newest event; null when it is not worth trying. */
  readonly announced: ExportLocation | null;
  /** A URL that the service has just made. */
  readonly regenerated: ExportLocation | null;
  /** Series without a file before this one. */
  readonly failedSeries: number;
  /** The event that announced the file; null: none did. */
  readonly eventId: string | null;
}

/** Storage has no usable file, as the specification foresees: export it. */
interface StorageFailed {
  readonly outcome: 'export';
  readonly mismatch: string | null;
}

const MAX_URLS = 3;

/** @throws cancellations only */
export async function fetchFile(
  activities: InvoiceActivities,
  request: FileRequest,
): Promise<FetchedFile | MissingFile> {
  const { invoiceId } = request;
  const stored = await outcomeOf(downloadFile(activities, request));
  if (stored.outcome === 'fetched') return stored;
  if (stored.outcome === 'export') return outcomeOf(exportFile(activities, invoiceId, stored.mismatch));
  if (!mayExport(stored, request.failedSeries)) return stored;
  const exported = await outcomeOf(exportFile(activities, invoiceId, null));
  if (exported.outcome === 'fetched') return exported;
  const isFinal =
    stored.outcome === 'operator' && (exported.outcome === 'operator' || exported.code === 'not-exported');
  const message = `${stored.message} The other way, export-csv, failed too: ${exported.message}`;
  return { outcome: isFinal ? 'operator' : 'retry', code: stored.code, message };
}

/**
 * Whether an export may succeed after this failure. Storage failures that may pass are retried once first, because an
 * announced hash is the stronger proof; a failure of the whole API would fail the export, too.
 */
function mayExport({ activity, code }: MissingFile, failedSeries: number): boolean {
  const error = serviceError(code);
  if (error === null) return false;
  if (activity === 'regenerateUrl') return error.scope !== 'service';
  if (activity !== 'downloadCsv') return false;
  return error.reaction !== 'retry' || error.scope === 'invoice' || failedSeries > 0;
}

async function outcomeOf<T>(work: Promise<T>): Promise<T | MissingFile> {
  try {
    return await work;
  } catch (error) {
    const failure = failureOf(error);
    return { outcome: reactionTo(failure).reaction === 'fatal' ? 'operator' : 'retry', ...failure };
  }
}

async function downloadFile(
  activities: InvoiceActivities,
  { invoiceId, announced, regenerated, eventId }: FileRequest,
): Promise<FetchedFile | MissingFile | StorageFailed> {
  let url = regenerated ?? unlessExpired(announced);
  let source: 'event' | 'regenerate' = regenerated === null ? 'event' : 'regenerate';
  let mismatches = 0;
  let impossible = 0;
  let refusal = '';

  for (let used = 0; used < MAX_URLS; ) {
    if (url === null) {
      const fresh = await regenerateUrl(activities, invoiceId);
      if ('outcome' in fresh) return fresh;
      url = fresh;
      source = 'regenerate';
    }
    const download = mismatches === 0 ? downloadTwice : downloadOnce;
    const request: DownloadCsvRequest = { invoiceId, location: url, source, eventId };
    const result = await download(activities, request);
    switch (result.outcome) {
      case 'fetched': {
        const { sha256, announcedSha256 = url.fileHashSha256, loaded = null } = result;
        const encodedSha256 = announcedSha256 === url.fileHashSha256 ? null : url.fileHashSha256;
        return {
          ...{ outcome: 'fetched', sha256, source, announcedSha256, encodedSha256 },
          ...{ tag: null, mismatch: null, loaded },
        };
      }
      case 'host-not-allowed':
        // Storage was not called, so the URL does not count as used.
        if (source === 'regenerate') return missing('operator', result.outcome, result.message);
        break;
      case 'impossible-announcement':
        impossible += 1;
        if (impossible === 2) return missing('operator', result.outcome, result.message);
        break;
      case 'url-refused':
        used += 1;
        refusal = result.message;
        break;
      case 'mismatch':
        used += 1;
        mismatches += 1;
        if (mismatches === 2) return { outcome: 'export', mismatch: result.message };
    }
    url = null;
  }
  return missing('retry', 'url-refused', refusal);
}

function missing(outcome: MissingFile['outcome'], code: string, message: string): MissingFile {
  return { outcome, code, message, activity: 'downloadCsv' };
}

async function regenerateUrl(
  activities: InvoiceActivities,
  invoiceId: string,
): Promise<ExportLocation | MissingFile | StorageFailed> {
  await activities.fetchToken();
  const answer = await activities.regenerateUrl({ invoiceId });
  switch (answer.outcome) {
    case 'location':
      return answer.location;
    case 'not-exported':
    case 'refused':
      // Finalized without a file: the service's own export to storage failed (spec 6, rule 6).
      return { outcome: 'export', mismatch: null };
    case 'forbidden':
      return {
        ...{ outcome: 'operator', code: 'forbidden', message: answer.message },
        activity: 'regenerateUrl',
      };
  }
}

function downloadOnce(activities: InvoiceActivities, request: DownloadCsvRequest) {
  return activities.downloadCsv(request);
}

/** Downloads differing bytes again before the URL counts as wrong (spec 6, rule 8). */
async function downloadTwice(activities: InvoiceActivities, request: DownloadCsvRequest) {
  const first = await activities.downloadCsv(request);
  return first.outcome === 'mismatch' ? activities.downloadCsv(request) : first;
}

async function exportFile(
  activities: InvoiceActivities,
  invoiceId: string,
  mismatch: string | null,
): Promise<FetchedFile | MissingFile> {
  const answer = await activities.exportCsv({ invoiceId }).catch((error: unknown) => {
    if (mismatch === null) throw error;
    return { outcome: 'failed', failure: failureOf(error) } as const;
  });
  if (answer.outcome === 'fetched') {
    const { sha256, tag = null } = answer;
    return {
      ...{ outcome: 'fetched', sha256, source: 'export', announcedSha256: null, encodedSha256: null },
      ...{ tag, mismatch, loaded: null },
    };
  }
  if (mismatch !== null) {
    // Only a failed export may succeed later.
    const mayPass = answer.outcome === 'failed' && reactionTo(answer.failure).reaction !== 'fatal';
    return { outcome: mayPass ? 'retry' : 'operator', code: 'hash-mismatch', message: mismatch };
  }
  return { outcome: 'retry', code: 'not-exported', message: 'The service has no file for this invoice.' };
}

/** A wrong clock costs a needless regeneration or a refused download, never the file. */
function unlessExpired(location: ExportLocation | null): ExportLocation | null {
  if (location === null) return null;
  return Date.parse(location.presignedUrlExpiresAt) <= Date.now() ? null : location;
}

export interface RejectedFile {
  readonly invoiceId: string;
  readonly sha256: string | null;
  /** null: not an export, or the service sent none. */
  readonly tag: FileTag | null;
}

/**
 * Asks for another file than the rejected one. Where the service announces a hash, this downloads nothing; an export is
 * requested with the tag of the rejected file, or compared by its bytes.
 *
 * @returns null when the file is still the same, or the service does not answer; `location` is null for an export
 */
export async function findRepairedFile(
  activities: InvoiceActivities,
  { invoiceId, sha256, tag }: RejectedFile,
): Promise<{ readonly location: ExportLocation | null } | null> {
  try {
    await activities.fetchToken();
    const answer = await activities.regenerateUrl({ invoiceId });
    if (answer.outcome === 'location') {
      const { location } = answer;
      return location.fileHashSha256 === sha256 ? null : { location };
    }
    const exported = await activities.exportCsv({ invoiceId, ...(tag === null ? {} : { unless: tag }) });
    const isOther = exported.outcome === 'fetched' && exported.sha256 !== sha256;
    return isOther ? { location: null } : null;
  } catch (error) {
    failureOf(error); // Rethrows a cancellation.
    return null;
  }
}
