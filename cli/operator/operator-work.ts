/** Performs the actions of the dashboard's operators with the code of the commands. */

import type { OperatorWork, Performed, RequestedAction } from '../../dashboard/operator/operator-work.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import type { Quarantine } from '../../lib/wire/quarantine.ts';
import { CliError, EXIT } from '../errors.ts';
import { publishedInvoice } from '../find-invoices.ts';
import { requeue } from '../requeue.ts';
import { counted } from '../terminal/output.ts';
import { addressOf, partnerIdOf, retryOne, withArchive, withTemporal } from '../with-temporal.ts';
import {
  decideOnAlert,
  describeAction,
  idsOfNames,
  importUpload,
  pageOfInvoice,
  SECTION,
} from './operator-actions.ts';

/** Without a limit, a request would wait an hour for a worker that is down. */
const ANSWER_WITHIN_MS = 60_000;

export function createOperatorWork(settings: Settings, quarantine: Quarantine): OperatorWork {
  async function perform(requested: RequestedAction, reason: string, by: string): Promise<Performed> {
    switch (requested.action) {
      case 'retry':
        await retryOne(
          settings,
          await addressOf(settings, await publishedInvoice(settings, requested.invoiceId)),
        );
        return {
          detail: 'The retry has started; the page of the invoice shows the result.',
          next: pageOfInvoice(requested.invoiceId),
        };
      case 'requeue':
        return done((await requeue({ settings, quarantine, ids: [requested.quarantineId] })).join(' '));
      case 'discard':
        return discard(settings, { quarantine, id: requested.quarantineId, note: reason });
      case 'publish':
        return publish(settings);
      case 'pause':
      case 'resume':
        return schedule(settings, requested.action, reason);
      case 'backfill':
        return backfill(settings, requested.words);
      case 'import':
        return importUpload(settings, requested);
      case 'acknowledge':
      case 'quiet':
      case 'unquiet':
        return decideOnAlert(settings, requested, { by, note: reason });
    }
  }

  return {
    describe: (requested) => describeAction(requested, { settings, quarantine }),
    perform,
    backfill: (backfillId) =>
      withTemporal(settings, async (client) => {
        const { followBackfill } = await import('../../workflows/client/backfill-client.ts');
        const { total, done, inProgress, isOver, counts } = await followBackfill(
          client,
          settings,
          backfillId,
        ).status();
        const some = Object.entries(counts).filter(([, count]) => count > 0);
        return { total, done, inWork: inProgress, isOver, counts: Object.fromEntries(some) };
      }),
    async schedule() {
      const { showSchedule } = await import('../../workflows/client/schedules.ts');
      return withTemporal(settings, (client) => showSchedule(client, settings));
    },
  };
}

function done(detail: string): Performed {
  return { detail, next: null };
}

async function discard(
  settings: Settings,
  { quarantine, id, note }: { readonly quarantine: Quarantine; readonly id: string; readonly note: string },
): Promise<Performed> {
  const { discardQuarantined } = await import('../../webhook/requeue.ts');
  const isDiscarded = await withArchive(settings, (archive) =>
    discardQuarantined(id, { quarantine, archive, note }),
  );
  if (isDiscarded) return done(`${id} is discarded.`);
  throw new CliError(EXIT.nothingMatched, `${id} is already gone`);
}

function publish(settings: Settings): Promise<Performed> {
  return withTemporal(settings, async (client) => {
    const { requestSnapshot } = await import('../../workflows/client/writer-client.ts');
    const published = await inTime(requestSnapshot(client, settings));
    if (published === null) return done(STILL);
    const { sequence, invoices, shipments } = published;
    return done(
      `Publication ${sequence}: ${counted(invoices, 'invoice')}, ${counted(shipments, 'shipment')}.`,
    );
  });
}

/** Also when the worker is down: the request waits for it. */
export const STILL = 'It was started and takes longer than a minute; it continues in the background.';

/** null: it takes longer. */
export async function inTime<T>(result: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ANSWER_WITHIN_MS);
  });
  result.catch(() => undefined);
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

function schedule(settings: Settings, change: 'pause' | 'resume', note: string): Promise<Performed> {
  return withTemporal(settings, async (client) => {
    const { pauseSchedule, resumeSchedule } = await import('../../workflows/client/schedules.ts');
    if (change === 'pause') await pauseSchedule(client, settings, note);
    else await resumeSchedule(client, settings);
    return done(change === 'pause' ? 'The schedule is paused.' : 'The schedule is resumed.');
  });
}

async function backfill(settings: Settings, words: readonly string[]): Promise<Performed> {
  const invoiceIds = await idsOfNames(settings, words);
  const partnerId = await partnerIdOf(settings);
  const { startBackfill } = await import('../../workflows/client/backfill-client.ts');
  return withTemporal(settings, async (client) => {
    const { backfillId } = await startBackfill(client, settings, { partnerId, invoiceIds });
    const detail = `Backfill ${backfillId} fetches ${counted(invoiceIds.length, 'invoice')}.`;
    return { detail, next: { path: `${SECTION}/backfill/${backfillId}`, label: 'Follow its progress' } };
  });
}

/** Folder of uploaded files until their import. */
export function uploadFolder({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return dataFolder(dataDir).uploads;
}
