/**
 * Gets a finalized invoice's CSV into the archive: one series of attempts, from the event's URL to the last resort.
 *
 * A round is one URL, and there are at most three to a series. A URL that storage refuses is regenerated; bytes that
 * are not the announced ones are downloaded once more, then regenerated, then downloaded once more, then exported
 * (spec 4.5, which has no announced hash). What is left after that either backs off (`later`) or is for a person.
 */

import type { DownloadCsvRequest } from '../activities/download-csv.js';
import type { ExportLocation } from '../contract/invoice-event.js';
import type { FileSource } from '../contract/names.js';
import { failureOf } from './failure.js';
import type { InvoiceActivities } from './options.js';

export interface ArrivedFile {
  readonly outcome: 'arrived';
  readonly sha256: string;
  readonly source: Exclude<FileSource, 'file'>;
  /** null for export-csv: the load proves it by the header. */
  readonly announcedSha256: string | null;
  /** Why the announced bytes were given up for an export, with both hashes; null when they were not. */
  readonly mismatch: string | null;
}

/** `later`: back off, then another series. `person`: trying again changes nothing by itself. */
export interface MissingFile {
  readonly outcome: 'later' | 'person';
  readonly code: string;
  readonly message: string;
}

export interface FileRequest {
  readonly invoiceId: string;
  /** What the newest event announced, when that is still worth trying. */
  readonly announced: ExportLocation | null;
  /** A URL the service has just made, when there is one. */
  readonly regenerated: ExportLocation | null;
}

const ROUNDS = 3;
/** What only a person can change: settings, or a storage that sends us where a stranger must not. */
const HOPELESS = new Set(['not-configured', 'address-refused', 'redirect']);

export async function getFile(
  activities: InvoiceActivities,
  request: FileRequest,
): Promise<ArrivedFile | MissingFile> {
  try {
    return await series(activities, request);
  } catch (error) {
    const failure = failureOf(error);
    return { outcome: HOPELESS.has(failure.code) ? 'person' : 'later', ...failure };
  }
}

async function series(
  activities: InvoiceActivities,
  { invoiceId, announced, regenerated }: FileRequest,
): Promise<ArrivedFile | MissingFile> {
  let url = regenerated ?? liveUrl(announced);
  let source: 'event' | 'regenerate' = regenerated === null ? 'event' : 'regenerate';
  let mismatchedUrls = 0;
  let refusal = '';

  for (let round = 0; round < ROUNDS; ) {
    if (url === null) {
      const fresh = await freshUrl(activities, invoiceId);
      if ('outcome' in fresh) return fresh;
      url = fresh;
      source = 'regenerate';
    }
    const download = mismatchedUrls === 0 ? downloadTwice : downloadOnce;
    const result = await download(activities, { invoiceId, location: url, source });
    switch (result.outcome) {
      case 'fetched':
        return {
          ...{ outcome: 'arrived', sha256: result.sha256, source },
          ...{ announcedSha256: url.fileHashSha256, mismatch: null },
        };
      case 'host-not-allowed':
        // Nothing was asked of storage, so this was no round; only an event's URL can be judged so.
        if (source === 'regenerate')
          return { outcome: 'person', code: result.outcome, message: result.message };
        break;
      case 'url-refused':
        round += 1;
        refusal = result.message;
        break;
      case 'mismatch':
        round += 1;
        mismatchedUrls += 1;
        if (mismatchedUrls === 2) return exported(activities, invoiceId, { mismatch: result.message });
    }
    url = null;
  }
  return { outcome: 'later', code: 'url-refused', message: refusal };
}

/** A URL from the service, or what to do without one. */
async function freshUrl(
  activities: InvoiceActivities,
  invoiceId: string,
): Promise<ExportLocation | ArrivedFile | MissingFile> {
  await activities.fetchToken();
  const answer = await activities.regenerateUrl({ invoiceId });
  switch (answer.outcome) {
    case 'location':
      return answer.location;
    case 'not-exported':
    case 'refused':
      // Known to be finalized, yet no file: the export to storage failed (spec 6, rule 6).
      return exported(activities, invoiceId, { mismatch: null });
    case 'forbidden':
      return { outcome: 'person', code: 'forbidden', message: answer.message };
  }
}

function downloadOnce(activities: InvoiceActivities, request: DownloadCsvRequest) {
  return activities.downloadCsv(request);
}

/** Bytes that differ are downloaded once more before anything else is blamed (spec 6, rule 8). */
async function downloadTwice(activities: InvoiceActivities, request: DownloadCsvRequest) {
  const first = await activities.downloadCsv(request);
  return first.outcome === 'mismatch' ? activities.downloadCsv(request) : first;
}

async function exported(
  activities: InvoiceActivities,
  invoiceId: string,
  { mismatch }: { readonly mismatch: string | null },
): Promise<ArrivedFile | MissingFile> {
  const answer = await activities.exportCsv({ invoiceId }).catch((error: unknown) => {
    if (mismatch === null) throw error;
    failureOf(error); // Throws on what is not an activity's failure: a cancellation.
    return { outcome: 'not-found' } as const;
  });
  if (answer.outcome === 'fetched') {
    const { sha256 } = answer;
    return { outcome: 'arrived', sha256, source: 'export', announcedSha256: null, mismatch };
  }
  if (mismatch !== null) return { outcome: 'person', code: 'hash-mismatch', message: mismatch };
  return { outcome: 'later', code: 'not-exported', message: 'The service has no file for this invoice.' };
}

/** A clock that is wrong costs a needless regeneration or a refused try, never the file. */
function liveUrl(location: ExportLocation | null): ExportLocation | null {
  if (location === null) return null;
  const expiresAt = Date.parse(location.presignedUrlExpiresAt);
  return expiresAt <= Date.now() ? null : location;
}
