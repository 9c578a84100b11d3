/** What is parked waits for a retry, a new event or, of a file with a bad row, its repair. */

import { condition } from '@temporalio/workflow';
import { findRepairedFile } from '../find-repaired-file.ts';
import * as lifecycle from '../lifecycle.ts';
import { nthBackoff } from '../pace.ts';
import { ask } from './ask.ts';
import { resume } from './park.ts';
import type { InvoiceRun } from './run.ts';
import { isVoidSettled } from './void.ts';

/** Returns when something is to be done: a retry, a new event, a repaired file. */
export async function waitForPerson(run: InvoiceRun): Promise<void> {
  const { mailbox } = run;
  if (run.knowledge.rank === 'voided' && mailbox.hasNews) {
    if (await isVoidSettled(run)) return;
  } else if (mailbox.isRetryWanted) {
    mailbox.takeRequests();
    run.startSeriesAfresh();
    run.knowledge = lifecycle.unpark(run.knowledge);
    return resume(run);
  }
  if (mailbox.isRecheckWanted && (await ask(run)) === false) {
    return run.pause(nthBackoff(run.pace, run.failedSeries));
  }
  mailbox.takeRequests();
  await mailbox.reply({ state: 'needs_attention', reason: run.knowledge.attention?.reason ?? null });
  run.doing = 'waiting for a person or a new event';
  if (run.knowledge.attention?.code === 'csv-rejected') {
    return waitForRepair(run);
  }
  await condition(() => mailbox.hasNews);
}

/** The service may have repaired a file that broke a rule: it is asked at widening intervals, for as long as it takes. */
async function waitForRepair(run: InvoiceRun): Promise<void> {
  const { repairAfter } = run.pace;
  const after = repairAfter[Math.min(run.repairAsks, repairAfter.length - 1)] ?? '16 d';
  if (await condition(() => run.mailbox.hasNews, after)) return;
  run.repairAsks += 1;
  const { refusedSha256, refusedTag, input } = run;
  const { invoiceId } = input;
  const repaired = await findRepairedFile(run.activities, { invoiceId, refusedSha256, refusedTag });
  if (repaired === null || run.mailbox.hasNews) return;
  run.freshUrl = repaired.location;
  run.startSeriesAfresh();
  run.knowledge = lifecycle.unpark(run.knowledge);
  return resume(run);
}
