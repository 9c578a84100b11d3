/** How the dashboard's operators act: each by the parts of the command that does the same. */

import { join } from 'node:path';
import type { Settings } from '../../config/settings.js';
import type { Quarantine } from '../../contract/quarantine.js';
import type {
  Described,
  OperatorWork,
  Performed,
  RequestedAction,
} from '../../dashboard/operator/operator-work.js';
import { addressOf, retryOne, withTemporal } from '../ask-temporal.js';
import { idsOf } from '../commands/invoices/invoice-ids.js';
import { findInvoice } from '../commands/invoices.js';
import { CliError, EXIT } from '../errors.js';
import { learnPartnerId } from '../partner-id.js';
import { openPublished } from '../published.js';
import { requeue } from '../requeue.js';
import { counted } from '../terminal/output.js';
import { checkUpload, importUpload } from './import-upload.js';

const SECTION = '/operator';
/** What is named in a description and in the audit log; the rest is counted. */
const MOST_NAMED = 100;
/** A worker that is away would be waited for an hour. */
const ANSWER_WITHIN_MS = 60_000;

export function createOperatorWork(settings: Settings, quarantine: Quarantine): OperatorWork {
  const publishedInvoice = async (wanted: string) => {
    const published = await openPublished(settings);
    return findInvoice(published, wanted).finally(() => published.close());
  };

  async function describe(requested: RequestedAction): Promise<Described> {
    switch (requested.action) {
      case 'retry': {
        const invoice = await publishedInvoice(requested.invoiceId);
        const [id, number] = [
          String(invoice.invoice_id),
          String(invoice.invoice_number ?? invoice.invoice_id),
        ];
        const consequences = [
          `Invoice ${number} of ${String(invoice.tenant ?? 'an unknown tenant')} is ${String(invoice.state)} now.`,
          'Its workflow asks the service again and loads what it gets; a file that is loaded already is not counted twice.',
        ];
        const back = `/invoices/${id}`;
        return {
          ...PLAIN,
          title: `Try invoice ${number} again`,
          consequences,
          label: 'Try again',
          command: 'invoices retry',
          target: [id],
          back,
        };
      }
      case 'requeue':
      case 'discard':
        return describeRefused(requested, quarantine);
      case 'publish': {
        const consequences = [
          'Everything that is committed is published now; readers see it at once. Nothing else changes.',
        ];
        return { ...PLAIN, title: 'Publish now', consequences, label: 'Publish', command: 'snapshot' };
      }
      case 'pause': {
        const consequences = [
          `Reconciliation, every ${settings.reconcileEvery}, does not begin by itself any more; one that runs goes on.`,
          'Overdue invoices are not asked for and nothing is proved until it is resumed.',
        ];
        return {
          ...PLAIN,
          title: 'Pause the schedule',
          consequences,
          label: 'Pause',
          command: 'schedule pause',
          reasonLabel: 'Why',
        };
      }
      case 'resume': {
        const consequences = [`Reconciliation begins by itself again, every ${settings.reconcileEvery}.`];
        return {
          ...PLAIN,
          title: 'Let the schedule go on',
          consequences,
          label: 'Go on',
          command: 'schedule resume',
        };
      }
      case 'backfill': {
        const ids = await idsOfWords(settings, requested.words);
        const named = ids.slice(0, MOST_NAMED);
        const more = ids.length > named.length ? [`And ${ids.length - named.length} more.`] : [];
        const consequences = [
          `The service is asked for ${counted(ids.length, 'invoice')}; what is finalized is downloaded and loaded, what is loaded already is not counted twice.`,
          ...named,
          ...more,
        ];
        return {
          ...PLAIN,
          title: `Fetch ${counted(ids.length, 'invoice')}`,
          consequences,
          label: 'Fetch',
          command: 'backfill',
          target: named,
        };
      }
      case 'import':
        return checkUpload(settings, requested);
    }
  }

  async function perform(requested: RequestedAction, reason: string): Promise<Performed> {
    switch (requested.action) {
      case 'retry':
        await retryOne(settings, await addressOf(settings, await publishedInvoice(requested.invoiceId)));
        return {
          detail: 'It is tried again; its page tells how it went.',
          next: `/invoices/${requested.invoiceId}`,
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
    }
  }

  return {
    describe,
    perform,
    backfill: (backfillId) =>
      withTemporal(settings, async (client) => {
        const { followBackfill } = await import('../../temporal/backfill-client.js');
        const { total, done, inWork, isOver, counts } = await followBackfill(
          client,
          settings,
          backfillId,
        ).status();
        const some = Object.entries(counts).filter(([, count]) => count > 0);
        return { total, done, inWork, isOver, counts: Object.fromEntries(some) };
      }),
    async schedule() {
      const { showSchedule } = await import('../../temporal/schedule.js');
      return withTemporal(settings, (client) => showSchedule(client, settings));
    },
  };
}

/** What most have in common. */
const PLAIN = { reasonLabel: null, target: [], back: SECTION } as const;

function done(detail: string): Performed {
  return { detail, next: null };
}

async function describeRefused(
  { action, quarantineId: id }: Extract<RequestedAction, { readonly action: 'requeue' | 'discard' }>,
  quarantine: Quarantine,
): Promise<Described> {
  const shown = /^[df]-[0-9a-f]{16}$/.test(id) ? await quarantine.show(id) : null;
  if (shown === null) throw new CliError(EXIT.nothingMatched, 'nothing in quarantine has that id');
  const { kind, reason } = shown.thing;
  const common = { ...PLAIN, command: `quarantine ${action}`, target: [id], back: `/quarantine/${id}` };
  if (action === 'requeue') {
    const what =
      kind === 'delivery'
        ? 'The delivery goes through the door once more and is acted on as if it came now; it leaves quarantine.'
        : 'The invoice of the file is asked for a new one; the file leaves quarantine when that one is loaded.';
    return { ...common, title: 'Take it up again', consequences: [reason, what], label: 'Take up' };
  }
  const what = 'It is forgotten for good: what was refused is removed, and an event in it is never acted on.';
  return {
    ...common,
    ...{
      title: 'Discard it',
      consequences: [reason, what, 'This cannot be undone.'],
      label: 'Discard',
      reasonLabel: 'Why',
    },
  };
}

async function discard(
  settings: Settings,
  { quarantine, id, note }: { readonly quarantine: Quarantine; readonly id: string; readonly note: string },
): Promise<Performed> {
  const { discardQuarantined } = await import('../../webhook/requeue-delivery.js');
  const { openArchive } = await import('../../archive/open-archive.js');
  const archive = await openArchive(settings);
  try {
    if (await discardQuarantined(id, { quarantine, archive, note })) return done(`${id} is forgotten.`);
    throw new CliError(EXIT.nothingMatched, `${id} is gone already`);
  } finally {
    await archive.close();
  }
}

function publish(settings: Settings): Promise<Performed> {
  return withTemporal(settings, async (client) => {
    const { askSnapshot } = await import('../../temporal/writer-client.js');
    const published = await inTime(askSnapshot(client, settings));
    if (published === null) return done(STILL);
    const { sequence, invoices, shipments } = published;
    return done(
      `Publication ${sequence}: ${counted(invoices, 'invoice')}, ${counted(shipments, 'shipment')}.`,
    );
  });
}

/** Also where the worker is away: the request waits for it. */
export const STILL = 'It was asked for and takes longer than a minute; it goes on by itself.';

/** null: it takes longer. */
export async function inTime<T>(asked: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ANSWER_WITHIN_MS);
  });
  asked.catch(() => undefined);
  return Promise.race([asked, late]).finally(() => clearTimeout(timer));
}

function schedule(settings: Settings, change: 'pause' | 'resume', note: string): Promise<Performed> {
  return withTemporal(settings, async (client) => {
    const { pauseSchedule, resumeSchedule } = await import('../../temporal/schedule.js');
    if (change === 'pause') await pauseSchedule(client, settings, note);
    else await resumeSchedule(client, settings);
    return done(change === 'pause' ? 'The schedule is paused.' : 'The schedule goes on.');
  });
}

async function idsOfWords(settings: Settings, words: readonly string[]): Promise<readonly string[]> {
  if (words.length === 0) throw new CliError(EXIT.nothingMatched, 'no invoice is named');
  return idsOf(
    settings,
    words.map((word) => ({ word, place: null })),
  );
}

async function backfill(settings: Settings, words: readonly string[]): Promise<Performed> {
  const invoiceIds = await idsOfWords(settings, words);
  const partnerId = await learnPartnerId(settings);
  const { startBackfill } = await import('../../temporal/backfill-client.js');
  return withTemporal(settings, async (client) => {
    const { backfillId } = await startBackfill(client, settings, { partnerId, invoiceIds });
    const detail = `Backfill ${backfillId} fetches ${counted(invoiceIds.length, 'invoice')}.`;
    return { detail, next: `${SECTION}/backfill/${backfillId}` };
  });
}

/** Where files lie between upload and import. */
export function uploadFolder({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return join(dataDir, 'uploads');
}
