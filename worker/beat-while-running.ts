/**
 * Tells Temporal that an activity's process lives, so that what a kill -9 interrupted is tried again within seconds
 * and not when the whole time of an attempt has run out.
 */

import type { Context } from '@temporalio/activity';
import type { ActivityInterceptors } from '@temporalio/worker';
import { beatEvery } from '../activities/beat.ts';

/** These beat by themselves: with how far they are, or only while they advance. */
const TELL_PROGRESS = new Set([
  'downloadCsv',
  'exportCsv',
  'loadInvoice',
  'lookAfterInvoices',
  'surveyInvoices',
  'verifyWarehouse',
]);
/** Well below the 15 s after which an attempt counts as dead; Temporal hears of it once a second at most. */
const BEAT_EVERY_MS = 3_000;

export function beatWhileRunning(context: Context): ActivityInterceptors {
  const { activityType, heartbeatTimeoutMs } = context.info;
  if (heartbeatTimeoutMs === undefined || TELL_PROGRESS.has(activityType)) return {};
  return {
    inbound: {
      async execute(input, next) {
        const beat = beatEvery(BEAT_EVERY_MS, () => context.heartbeat());
        try {
          return await next(input);
        } finally {
          beat.stop();
        }
      },
    },
  };
}
