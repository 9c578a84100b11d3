/**
 * Gets a finalized invoice's CSV into the archive: one series of attempts, by one way and then by the other.
 *
 * The first way is a URL of the storage. A round is one URL, and there are at most three to a series: one that storage
 * refuses is regenerated; bytes that are not the announced ones are downloaded once more, then regenerated, then
 * downloaded once more; what cannot be true of any file is regenerated once. When that way fails for good, the second is
 * export-csv (spec 4.5), which has no announced hash. What is left after both either backs off (`later`) or is for a person.
 */

import type { DownloadCsvRequest } from '../activities/download-csv.ts';
import type { LoadInvoiceResult } from '../activities/load-invoice.ts';
import type { FileTag } from '../billing/billing-service.ts';
import type { ExportLocation, FileSource } from '../lib/wire/names.ts';
import { failureOf } from './failure.ts';
import type { InvoiceActivities } from './options.ts';

export interface ArrivedFile {
  readonly outcome: 'arrived';
  readonly sha256: string;
  readonly source: Exclude<FileSource, 'file'>;
  /** null for export-csv: the load proves it by the header. */
  readonly announcedSha256: string | null;
  /** What was announced where that was the hash of the encoded file; null: it was not. */
  readonly encodedSha256: string | null;
  /** By which an export is known again without its bytes; null: it came another way, or nothing was told. */
  readonly tag: FileTag | null;
  /** Why the announced bytes were given up for an export, with both hashes; null when they were not. */
  readonly mismatch: string | null;
  /** What came of loading it where that was done at once; null: it is to be loaded. */
  readonly loaded: LoadInvoiceResult | null;
}

/** `later`: back off, then another series. `person`: trying again changes nothing by itself. */
export interface MissingFile {
  readonly outcome: 'later' | 'person';
  readonly code: string;
  readonly message: string;
  /** Whose failure it is; missing when no way is left. */
  readonly activity?: string;
}

export interface FileRequest {
  readonly invoiceId: string;
  /** What the newest event announced, when that is still worth trying. */
  readonly announced: ExportLocation | null;
  /** A URL the service has just made, when there is one. */
  readonly regenerated: ExportLocation | null;
  /** How many series before this one brought nothing. */
  readonly failedSeries: number;
  /** The event that announced the newest file; null: none did. */
  readonly eventId: string | null;
}

/** The way over the storage is at its end, as the specification foresees it: the next is export-csv. */
interface WayEnded {
  readonly outcome: 'ended';
  /** Why the announced bytes were given up; null when there are none. */
  readonly mismatch: string | null;
}

const ROUNDS = 3;
/** What only a person can change: settings, or a storage that sends us where a stranger must not. */
const HOPELESS = new Set(['not-configured', 'address-refused', 'redirect']);
/** What the one way failed with while the other may be open. Where the API itself is away there is nothing to try. */
const OTHER_WAY_AFTER: Readonly<Record<string, ReadonlySet<string>>> = {
  regenerateUrl: new Set(['forbidden', 'redirect', 'server-fault', 'unexpected-answer', 'not-ready']),
  downloadCsv: new Set([
    ...['url-refused', 'host-not-allowed', 'address-refused', 'redirect', 'impossible-announcement'],
    ...['unexpected-answer', 'not-csv', 'not-ready'],
  ]),
};
/** The same after a second series: it may pass, and the announced hash is worth a pause. */
const OTHER_WAY_IF_IT_LASTS: Readonly<Record<string, ReadonlySet<string>>> = {
  regenerateUrl: new Set(['deadline-exceeded', 'timeout']),
  downloadCsv: new Set(['server-fault', 'overloaded', 'unreachable', 'deadline-exceeded', 'timeout']),
};

/** @returns the file, or what to do without one. @throws a cancellation, and nothing else */
export async function getFile(
  activities: InvoiceActivities,
  request: FileRequest,
): Promise<ArrivedFile | MissingFile> {
  const { invoiceId } = request;
  const stored = await outcomeOf(fromStorage(activities, request));
  if (stored.outcome === 'arrived') return stored;
  if (stored.outcome === 'ended') return outcomeOf(exported(activities, invoiceId, stored));
  if (!isOtherWayOpen(stored, request.failedSeries)) return stored;
  const made = await outcomeOf(exported(activities, invoiceId, { mismatch: null }));
  if (made.outcome === 'arrived') return made;
  // A person is asked at once only when there is nothing to wait for on either way.
  const isHopeless =
    stored.outcome === 'person' && (made.outcome === 'person' || made.code === 'not-exported');
  const message = `${stored.message} The other way, export-csv, failed too: ${made.message}`;
  return { outcome: isHopeless ? 'person' : 'later', code: stored.code, message };
}

function isOtherWayOpen({ activity = '', code }: MissingFile, failedSeries: number): boolean {
  const isAtOnce = OTHER_WAY_AFTER[activity]?.has(code) ?? false;
  return isAtOnce || (failedSeries > 0 && (OTHER_WAY_IF_IT_LASTS[activity]?.has(code) ?? false));
}

/** What an activity failed with, as an outcome. */
async function outcomeOf<T>(way: Promise<T>): Promise<T | MissingFile> {
  try {
    return await way;
  } catch (error) {
    const failure = failureOf(error);
    return { outcome: HOPELESS.has(failure.code) ? 'person' : 'later', ...failure };
  }
}

async function fromStorage(
  activities: InvoiceActivities,
  { invoiceId, announced, regenerated, eventId }: FileRequest,
): Promise<ArrivedFile | MissingFile | WayEnded> {
  let url = regenerated ?? liveUrl(announced);
  let source: 'event' | 'regenerate' = regenerated === null ? 'event' : 'regenerate';
  let mismatchedUrls = 0;
  let impossibleUrls = 0;
  let refusal = '';

  for (let round = 0; round < ROUNDS; ) {
    if (url === null) {
      const fresh = await freshUrl(activities, invoiceId);
      if ('outcome' in fresh) return fresh;
      url = fresh;
      source = 'regenerate';
    }
    const download = mismatchedUrls === 0 ? downloadTwice : downloadOnce;
    const result = await download(activities, { invoiceId, location: url, source, eventId });
    switch (result.outcome) {
      case 'fetched': {
        const { sha256, announcedSha256 = url.fileHashSha256, loaded = null } = result;
        const encodedSha256 = announcedSha256 === url.fileHashSha256 ? null : url.fileHashSha256;
        const proof = { announcedSha256, encodedSha256, tag: null, mismatch: null };
        return { outcome: 'arrived', sha256, source, ...proof, loaded };
      }
      case 'host-not-allowed':
        // Nothing was asked of storage, so this was no round; only an event's URL can be checked so.
        if (source === 'regenerate') return failed('person', result.outcome, result.message);
        break;
      case 'impossible-announcement':
        impossibleUrls += 1;
        if (impossibleUrls === 2) return failed('person', result.outcome, result.message);
        break;
      case 'url-refused':
        round += 1;
        refusal = result.message;
        break;
      case 'mismatch':
        round += 1;
        mismatchedUrls += 1;
        if (mismatchedUrls === 2) return { outcome: 'ended', mismatch: result.message };
    }
    url = null;
  }
  return failed('later', 'url-refused', refusal);
}

function failed(outcome: MissingFile['outcome'], code: string, message: string): MissingFile {
  return { outcome, code, message, activity: 'downloadCsv' };
}

/** A URL from the service, or what to do without one. */
async function freshUrl(
  activities: InvoiceActivities,
  invoiceId: string,
): Promise<ExportLocation | MissingFile | WayEnded> {
  await activities.fetchToken();
  const answer = await activities.regenerateUrl({ invoiceId });
  switch (answer.outcome) {
    case 'location':
      return answer.location;
    case 'not-exported':
    case 'refused':
      // Known to be finalized, yet no file: the export to storage failed (spec 6, rule 6).
      return { outcome: 'ended', mismatch: null };
    case 'forbidden':
      return { outcome: 'person', code: 'forbidden', message: answer.message, activity: 'regenerateUrl' };
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
  { mismatch }: Pick<WayEnded, 'mismatch'>,
): Promise<ArrivedFile | MissingFile> {
  const answer = await activities.exportCsv({ invoiceId }).catch((error: unknown) => {
    if (mismatch === null) throw error;
    const failure = failureOf(error); // Throws on what is not an activity's failure: a cancellation.
    return { outcome: 'failed', failure } as const;
  });
  if (answer.outcome === 'fetched') {
    const { sha256, tag = null } = answer;
    return {
      outcome: 'arrived',
      sha256,
      source: 'export',
      ...{ announcedSha256: null, encodedSha256: null, tag },
      mismatch,
      loaded: null,
    };
  }
  if (mismatch !== null) {
    // A service that is still at work on the export may well end it.
    const isOpen = answer.outcome === 'failed' && !HOPELESS.has(answer.failure.code);
    return { outcome: isOpen ? 'later' : 'person', code: 'hash-mismatch', message: mismatch };
  }
  return { outcome: 'later', code: 'not-exported', message: 'The service has no file for this invoice.' };
}

/** A clock that is wrong costs a needless regeneration or a refused try, never the file. */
function liveUrl(location: ExportLocation | null): ExportLocation | null {
  if (location === null) return null;
  const expiresAt = Date.parse(location.presignedUrlExpiresAt);
  return expiresAt <= Date.now() ? null : location;
}
