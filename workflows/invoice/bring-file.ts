/** Brings a finalized invoice's file and loads it: one series of attempts, then a pause or a person. */

import { workflowInfo } from '@temporalio/workflow';
import type { LoadInvoiceResult } from '../../activities/load-invoice.ts';
import { type Failure, failureOf } from '../failure.ts';
import { type ArrivedFile, getFile } from '../get-file.ts';
import type { Announcement } from '../lifecycle.ts';
import * as lifecycle from '../lifecycle.ts';
import { inMilliseconds, nthBackoff } from '../pace.ts';
import { park } from './park.ts';
import { type InvoiceRun, TRIED_AGAIN } from './run.ts';

/** One series of attempts at the file and its load; a failed one is followed by a pause, or by a person. */
export async function bringFile(run: InvoiceRun): Promise<void> {
  const { invoiceId } = run.input;
  const { announcement } = run.knowledge;
  run.mailbox.takeRequests();
  run.doing = 'getting the file';
  const location = announcement?.location ?? null;
  const isRefused = location !== null && location.fileHashSha256 === run.refusedSha256;
  const { freshUrl: regenerated, failedSeries } = run;
  const request = {
    ...{ invoiceId, announced: isRefused ? null : location, regenerated, failedSeries },
    eventId: announcement?.eventId ?? null,
  };
  run.freshUrl = null;
  const file = await getFile(run.activities, request);
  if (file.outcome === 'arrived') return load(run, file, announcement);
  run.fail(file);
  const { attentionAfter, attentionAfterMissing } = run.pace;
  const limit = file.code === 'not-exported' ? attentionAfterMissing : attentionAfter;
  if (file.outcome === 'person' || run.pausedMs >= inMilliseconds(limit)) {
    return park(run, { code: file.code, reason: adviceFor(file, run.failedSeries + 1) });
  }
  await run.note({ code: file.code, reason: `${file.message} ${TRIED_AGAIN}` });
  const milliseconds = nthBackoff(run.pace, run.failedSeries);
  run.failedSeries += 1;
  run.pausedMs += milliseconds;
  await run.pause(milliseconds);
}

async function load(run: InvoiceRun, file: ArrivedFile, announcement: Announcement | null): Promise<void> {
  run.doing = 'loading';
  const { sha256, tag, mismatch } = file;
  let result: LoadInvoiceResult;
  try {
    result = file.loaded ?? (await loadArrived(run, file, announcement));
  } catch (error) {
    const failure = failureOf(error);
    run.fail(failure);
    const reason = `Loading failed in every attempt: ${failure.message} ${AFTER_THE_CAUSE}`;
    return park(run, { code: 'load-failed', reason });
  }
  switch (result.outcome) {
    case 'loaded':
    case 'already_loaded': {
      const announcedHash = announcement?.location.fileHashSha256 ?? null;
      run.knowledge = lifecycle.settleLoad(run.knowledge, { sha256, announcedSha256: announcedHash });
      run.startSeriesAfresh();
      run.lastFailure = null;
      // A load ends what is noted by itself; one that was there already does not.
      if (result.outcome === 'already_loaded' && run.notedFailure !== null) await run.note(null);
      run.notedFailure = null;
      return;
    }
    case 'voided':
      // By whom the ledger knows, from which the run learns it.
      run.knowledge = lifecycle.learnVoid(run.knowledge);
      return;
    case 'rejected':
    case 'contradicted': {
      if (run.refusedSha256 !== sha256) run.repairAsks = 0;
      run.refusedSha256 = sha256;
      run.refusedTag = tag;
      const code = mismatch !== null ? 'hash-mismatch' : CODE_OF_REFUSED_LOAD[result.outcome];
      await park(run, { code, reason: mismatch === null ? result.reason : `${mismatch} ${result.reason}` });
    }
  }
}

/** A file that was only brought: the load is an activity by itself. */
function loadArrived(
  run: InvoiceRun,
  file: ArrivedFile,
  announcement: Announcement | null,
): Promise<LoadInvoiceResult> {
  run.show();
  const { sha256, source, announcedSha256, encodedSha256 } = file;
  return run.activities.loadInvoice({
    ...{ invoiceId: run.input.invoiceId, sha256, source, announcedSha256 },
    ...(encodedSha256 === null ? {} : { encodedSha256 }),
    eventId: announcement?.eventId ?? null,
    workflowRunId: workflowInfo().runId,
  });
}

const CODE_OF_REFUSED_LOAD = { rejected: 'csv-rejected', contradicted: 'header-contradicted' } as const;

const AFTER_THE_CAUSE = 'Once the cause is gone, `billsync invoices retry` tries again; so does a new event.';

function adviceFor({ message }: Failure, series: number): string {
  const tried = series === 1 ? '' : ` ${series} series of attempts were made.`;
  return `${message}${tried} ${AFTER_THE_CAUSE}`;
}
