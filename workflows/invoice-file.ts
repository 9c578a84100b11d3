/**
 * At most three URLs in a series. A refused URL is regenerated; differing bytes are downloaded again, then
 * regenerated, then downloaded again; an impossible announcement is regenerated once. Then the file is exported (spec
 * 4.5), for which no hash is announced.
 */

import { workflowInfo } from '@temporalio/workflow';
import type { FileTag } from '../lib/wire/csv-file.ts';
import type { ExportLocation } from '../lib/wire/invoice-event.ts';
import type { FileSource } from '../lib/wire/names.ts';
import { serviceError } from '../lib/wire/service-errors.ts';
import type { DownloadCsvRequest, DownloadCsvResult, LoadInvoiceResult } from './activities.ts';
import type { CalledActivities } from './activity-options.ts';
import { failureOf, reactionTo } from './failure.ts';
import type { InvoiceRun } from './invoice-run.ts';
import type { Announcement } from './lifecycle.ts';
import * as lifecycle from './lifecycle.ts';
import { inMilliseconds } from './pace.ts';

interface FetchedFile {
  readonly outcome: 'fetched';
  readonly sha256: string;
  readonly source: Exclude<FileSource, 'file'>;
  /** The announced hash is null for an export, which the load proves by the header. */
  readonly announcedSha256: string | null;
  readonly encodedSha256: string | null;
  /** The validators that identify an export without its bytes; null for another source, or when the service sent none. */
  readonly tag: FileTag | null;
  readonly mismatch: string | null;
  readonly loaded: LoadInvoiceResult | null;
}

/** `retry`: another series after a pause. `operator`: a retry alone changes nothing. */
interface MissingFile {
  readonly outcome: 'retry' | 'operator';
  readonly code: string;
  readonly message: string;
  readonly activity?: string;
}

interface StorageFailed {
  readonly outcome: 'export';
  readonly mismatch: string | null;
}

const NOTHING_ELSE = { encodedSha256: null, tag: null, mismatch: null, loaded: null } as const;
const RETRY_HINT = 'Once the cause is gone, `billsync invoices retry` tries again; so does a new event.';
const MAX_URLS = 3;

export async function fetchAndLoad(run: InvoiceRun): Promise<void> {
  run.takeRequests();
  const { announcement } = run.knowledge;
  const file = await fetchFile(run, announcement);
  if (file.outcome === 'fetched') return loadFile(run, file, announcement);
  const { code, message } = file;
  const { attentionAfter, attentionAfterMissing } = run.pace;
  const limit = code === 'not-exported' ? attentionAfterMissing : attentionAfter;
  if (file.outcome === 'operator' || run.attempts.pausedMs >= inMilliseconds(limit)) {
    const series = run.attempts.failedSeries + 1;
    const attempts = series === 1 ? '' : ` ${series} series of attempts were made.`;
    return run.requireAttention({ code, reason: `${message}${attempts} ${RETRY_HINT}` });
  }
  await run.recordFailure({ code, reason: `${message} It is retried automatically.` });
  await run.backOffAfterSeries();
}

async function fetchFile(
  run: InvoiceRun,
  announcement: Announcement | null,
): Promise<FetchedFile | MissingFile> {
  const stored = await outcomeOf(downloadFile(run, announcement));
  if (stored.outcome === 'fetched') return stored;
  if (stored.outcome === 'export') return outcomeOf(exportFile(run, stored.mismatch));
  if (!mayExport(stored, run.attempts.failedSeries)) return stored;
  const exported = await outcomeOf(exportFile(run, null));
  if (exported.outcome === 'fetched') return exported;
  const isFinal =
    stored.outcome === 'operator' && (exported.outcome === 'operator' || exported.code === 'not-exported');
  const message = `${stored.message} The other way, export-csv, failed too: ${exported.message}`;
  return { outcome: isFinal ? 'operator' : 'retry', code: stored.code, message };
}

/**
 * An announced hash is the stronger proof, so storage failures that may pass are retried once first. A failure of the
 * whole API would fail the export, too.
 */
function mayExport({ activity, code }: MissingFile, failedSeries: number): boolean {
  const error = serviceError(code);
  if (error === null) return false;
  if (activity === 'regenerateUrl') return error.scope !== 'service';
  // A download whose turn did not come is repeated, because an export would have a weaker proof.
  if (activity !== 'downloadCsv' || code === 'host-busy') return false;
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
  run: InvoiceRun,
  announcement: Announcement | null,
): Promise<FetchedFile | MissingFile | StorageFailed> {
  const eventId = announcement?.eventId ?? null;
  let source: 'event' | 'regenerate' = run.freshUrl === null ? 'event' : 'regenerate';
  let url = run.freshUrl ?? usableUrl(run, announcement);
  run.freshUrl = null;
  let mismatches = 0;
  let impossible = 0;
  let refusal = '';

  for (let used = 0; used < MAX_URLS; ) {
    if (url === null) {
      const fresh = await regenerateUrl(run);
      if ('outcome' in fresh) return fresh;
      url = fresh;
      source = 'regenerate';
    }
    if (source === 'regenerate' && url.fileHashSha256 === run.knowledge.loadedSha256) {
      // The load records the answer, which settles a dispute.
      const { fileHashSha256: sha256 } = url;
      return { ...{ outcome: 'fetched', sha256, source, announcedSha256: sha256 }, ...NOTHING_ELSE };
    }
    const request = { invoiceId: run.input.invoiceId, location: url, source, eventId };
    const result = await download(run.activities, request, mismatches === 0);
    switch (result.outcome) {
      case 'fetched': {
        const { sha256, announcedSha256 = url.fileHashSha256, loaded = null } = result;
        const encodedSha256 = announcedSha256 === url.fileHashSha256 ? null : url.fileHashSha256;
        return {
          ...{ outcome: 'fetched', sha256, source, announcedSha256 },
          ...NOTHING_ELSE,
          ...{ encodedSha256, loaded },
        };
      }
      case 'host-not-allowed':
        // When storage was not called, the URL does not count as used.
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

/**
 * Returns null when the URL has expired, is that of the rejected file, or is disputed: then the service names the file, not a
 * sender. A wrong clock costs a regeneration or a refused download, never the file.
 */
function usableUrl(run: InvoiceRun, announcement: Announcement | null): ExportLocation | null {
  const location = announcement?.location ?? null;
  if (location === null || run.knowledge.isDisputed) return null;
  if (location.fileHashSha256 === run.rejected?.sha256) return null;
  return Date.parse(location.presignedUrlExpiresAt) <= Date.now() ? null : location;
}

async function download(
  activities: CalledActivities,
  request: DownloadCsvRequest,
  isRepeated: boolean,
): Promise<DownloadCsvResult> {
  const result = await activities.downloadCsv(request);
  return isRepeated && result.outcome === 'mismatch' ? activities.downloadCsv(request) : result;
}

function missing(outcome: MissingFile['outcome'], code: string, message: string): MissingFile {
  return { outcome, code, message, activity: 'downloadCsv' };
}

async function regenerateUrl({
  activities,
  input: { invoiceId },
}: InvoiceRun): Promise<ExportLocation | MissingFile | StorageFailed> {
  await activities.fetchToken();
  const answer = await activities.regenerateUrl({ invoiceId });
  switch (answer.outcome) {
    case 'location':
      return answer.location;
    case 'not-exported':
    case 'refused':
      // Finalized without a file: the service's own export to storage failed (spec 6, rule 6).
      return { outcome: 'export', mismatch: null };
    case 'forbidden': {
      const { message } = answer;
      return { outcome: 'operator', code: 'forbidden', message, activity: 'regenerateUrl' };
    }
  }
}

async function exportFile(
  { activities, input: { invoiceId } }: InvoiceRun,
  mismatch: string | null,
): Promise<FetchedFile | MissingFile> {
  const answer = await activities.exportCsv({ invoiceId }).catch((error: unknown) => {
    if (mismatch === null) throw error;
    return { outcome: 'failed', failure: failureOf(error) } as const;
  });
  if (answer.outcome === 'fetched') {
    const { sha256, tag = null } = answer;
    return {
      ...{ outcome: 'fetched', sha256, source: 'export', announcedSha256: null },
      ...NOTHING_ELSE,
      ...{ tag, mismatch },
    };
  }
  if (mismatch !== null) {
    // Only an export that failed may succeed later.
    const mayPass = answer.outcome === 'failed' && reactionTo(answer.failure).reaction !== 'fatal';
    return { outcome: mayPass ? 'retry' : 'operator', code: 'hash-mismatch', message: mismatch };
  }
  return { outcome: 'retry', code: 'not-exported', message: 'The service has no file for this invoice.' };
}

async function loadFile(
  run: InvoiceRun,
  file: FetchedFile,
  announcement: Announcement | null,
): Promise<void> {
  const { sha256, tag, mismatch } = file;
  let loaded: LoadInvoiceResult;
  try {
    loaded = file.loaded ?? (await callLoad(run, file, announcement));
  } catch (error) {
    const reason = `Loading failed in every attempt: ${failureOf(error).message} ${RETRY_HINT}`;
    return run.requireAttention({ code: 'load-failed', reason });
  }
  switch (loaded.outcome) {
    case 'loaded':
    case 'already_loaded': {
      run.knowledge = lifecycle.completeLoad(run.knowledge, { sha256, announcement });
      run.resetSeries();
      // Only a load that was there already leaves a recorded failure, so that failure is cleared here.
      if (loaded.outcome === 'already_loaded') await run.recordFailure(null);
      run.recordedFailure = null;
      return;
    }
    case 'voided':
      // The ledger refused the load because of a void, which the next step reads there.
      run.knowledge = lifecycle.applyVoidOfLoad(run.knowledge);
      return;
    case 'rejected':
    case 'contradicted': {
      if (run.rejected?.sha256 !== sha256) run.attempts.repairChecks = 0;
      run.rejected = { sha256, tag };
      const code = loaded.outcome === 'rejected' ? 'csv-rejected' : 'header-contradicted';
      const attention =
        mismatch === null
          ? { code, reason: loaded.reason }
          : { code: 'hash-mismatch', reason: `${mismatch} ${loaded.reason}` };
      await run.requireAttention(attention);
    }
  }
}

function callLoad(
  run: InvoiceRun,
  { sha256, source, announcedSha256, encodedSha256 }: FetchedFile,
  announcement: Announcement | null,
): Promise<LoadInvoiceResult> {
  run.updateSearchAttributes();
  return run.activities.loadInvoice({
    ...{ invoiceId: run.input.invoiceId, sha256, source, announcedSha256, encodedSha256 },
    eventId: announcement?.eventId ?? null,
    workflowRunId: workflowInfo().runId,
  });
}

/**
 * Downloads nothing where the service announces a hash. Returns null for the same file, or without an answer; `location` is null
 * for an export.
 */
export async function findRepairedFile({
  activities,
  rejected,
  input: { invoiceId },
}: InvoiceRun): Promise<{ readonly location: ExportLocation | null } | null> {
  const { sha256 = null, tag = null } = rejected ?? {};
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
