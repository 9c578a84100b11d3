import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  Described,
  OperatorWork,
  Performed,
  RequestedAction,
} from '../../dashboard/operator/operator-work.ts';
import { acknowledgeAlerts, openAlerts, quietAlerts } from '../../lib/alerts/alert-store.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import type { Quarantine } from '../../lib/quarantine.ts';
import { printable } from '../../lib/text.ts';
import type { Imported } from '../../lib/warehouse-requests.ts';
import { whyNotLoaded } from '../commands/import.ts';
import { CliError, EXIT } from '../errors.ts';
import { idsOf, publishedInvoice } from '../find-invoices.ts';
import { requeue } from '../requeue.ts';
import { counted } from '../terminal/output.ts';
import { addressOf, partnerIdOf, retryOneInvoice, withArchive, withTemporal } from '../with-temporal.ts';

/** Without this limit, a request of the page would wait an hour for a worker that is down. */
const ANSWER_WITHIN_MS = 60_000;
const MAX_NAMED = 100;
const SECTION = '/operator';
const PAGE_OF_ALERTS = { path: '/alerts', label: 'Show the alerts' } as const;
const PLAIN = { reasonLabel: null, target: [], back: SECTION } as const;

interface Context {
  readonly settings: Settings;
  readonly quarantine: Quarantine;
}

type Requested<Name, One extends RequestedAction = RequestedAction> = One extends RequestedAction
  ? Name extends One['action']
    ? One
    : never
  : never;

interface Action<Name extends RequestedAction['action']> {
  describe(requested: Requested<Name>, context: Context): Described | Promise<Described>;
  perform(
    requested: Requested<Name>,
    context: Context,
    decision: { readonly reason: string; readonly by: string },
  ): Promise<Performed>;
}

const ACTIONS: { readonly [Name in RequestedAction['action']]: Action<Name> } = {
  retry: {
    async describe({ invoiceId }, { settings }) {
      const invoice = await publishedInvoice(settings, invoiceId);
      const id = String(invoice.invoice_id);
      const number = String(invoice.invoice_number ?? id);
      return {
        ...PLAIN,
        title: `Retry invoice ${number}`,
        consequences: [
          `Invoice ${number} of ${String(invoice.tenant ?? 'an unknown tenant')} is ${String(invoice.state)} now.`,
          'Its workflow calls the service again and loads the file that it receives; a file that is already loaded is not counted twice.',
        ],
        label: 'Retry',
        command: 'invoices retry',
        target: [id],
        back: `/invoices/${id}`,
      };
    },
    async perform({ invoiceId }, { settings }) {
      await retryOneInvoice(settings, await addressOf(settings, await publishedInvoice(settings, invoiceId)));
      const detail = 'The retry has started; the page of the invoice shows the result.';
      return { detail, next: pageOfInvoice(invoiceId) };
    },
  },
  requeue: {
    async describe({ quarantineId }, { quarantine }) {
      const { kind, reason } = await quarantined(quarantine, quarantineId);
      const effect =
        kind === 'delivery'
          ? 'The delivery is processed again as if it had just arrived, and leaves quarantine.'
          : 'A new file is requested for the invoice; this one leaves quarantine when the new file is loaded.';
      return {
        ...ofQuarantined(quarantineId),
        title: 'Requeue it',
        consequences: [reason, effect],
        label: 'Requeue',
        command: 'quarantine requeue',
      };
    },
    perform: async ({ quarantineId }, context) =>
      performed((await requeue({ ...context, ids: [quarantineId] })).join(' ')),
  },
  discard: {
    async describe({ quarantineId }, { quarantine }) {
      const { reason } = await quarantined(quarantine, quarantineId);
      return {
        ...ofQuarantined(quarantineId),
        title: 'Discard it',
        consequences: [
          reason,
          'The refused item is deleted, and an event in it is never processed.',
          'This cannot be undone.',
        ],
        label: 'Discard',
        reasonLabel: 'Reason',
        command: 'quarantine discard',
      };
    },
    async perform({ quarantineId: id }, { settings, quarantine }, { reason }) {
      const { discardQuarantined } = await import('../../webhook/requeue.ts');
      const isDiscarded = await withArchive(settings, (archive) =>
        discardQuarantined(id, { quarantine, archive, note: reason }),
      );
      if (isDiscarded) return performed(`${id} is discarded.`);
      throw new CliError(EXIT.nothingMatched, `${id} is already gone`);
    },
  },
  publish: {
    describe: () => ({
      ...PLAIN,
      title: 'Publish now',
      consequences: [
        'Everything committed so far is published; readers see it immediately. Nothing else changes.',
      ],
      label: 'Publish',
      command: 'snapshot',
    }),
    perform: (_, { settings }) =>
      withTemporal(settings, async (client) => {
        const { requestSnapshot } = await import('../../workflows/client/writer-client.ts');
        // While the worker is down the request waits for it.
        const late = sleep(ANSWER_WITHIN_MS, null, { ref: false });
        const published = await Promise.race([requestSnapshot(client, settings), late]);
        if (published === null)
          return performed('It was started and takes longer than a minute; it continues in the background.');
        const { sequence, invoices, shipments } = published;
        return performed(
          `Publication ${sequence}: ${counted(invoices, 'invoice')}, ${counted(shipments, 'shipment')}.`,
        );
      }),
  },
  pause: {
    describe: (_, { settings: { reconcileEvery } }) => ({
      ...PLAIN,
      title: 'Pause the schedule',
      consequences: [
        `Reconciliation no longer runs every ${reconcileEvery}; a run in progress finishes.`,
        'Until it is resumed, overdue invoices are not requested and no totals are verified.',
      ],
      label: 'Pause',
      command: 'schedule pause',
      reasonLabel: 'Reason',
    }),
    async perform(_, { settings }, { reason }) {
      const { pauseSchedule } = await import('../../workflows/client/schedules.ts');
      await withTemporal(settings, (client) => pauseSchedule(client, settings, reason));
      return performed('The schedule is paused.');
    },
  },
  resume: {
    describe: (_, { settings: { reconcileEvery } }) => ({
      ...PLAIN,
      title: 'Resume the schedule',
      consequences: [`Reconciliation runs automatically again, every ${reconcileEvery}.`],
      label: 'Resume',
      command: 'schedule resume',
    }),
    async perform(_, { settings }) {
      const { resumeSchedule } = await import('../../workflows/client/schedules.ts');
      await withTemporal(settings, (client) => resumeSchedule(client, settings));
      return performed('The schedule is resumed.');
    },
  },
  backfill: {
    async describe({ invoices }, { settings }) {
      const ids = await idsOfNames(settings, invoices);
      const named = ids.slice(0, MAX_NAMED);
      const count = counted(ids.length, 'invoice');
      return {
        ...PLAIN,
        title: `Fetch ${count}`,
        consequences: [
          `Fetches ${count} from the service and loads the files of finalized ones; a file that is already loaded is not counted twice.`,
          ...named,
          ...(ids.length > named.length ? [`And ${ids.length - named.length} more.`] : []),
        ],
        label: 'Fetch',
        command: 'backfill',
        target: named,
      };
    },
    async perform({ invoices }, { settings }) {
      const invoiceIds = await idsOfNames(settings, invoices);
      const partnerId = await partnerIdOf(settings);
      const { startBackfill } = await import('../../workflows/client/backfill-client.ts');
      return withTemporal(settings, async (client) => {
        const { backfillId } = await startBackfill(client, settings, { partnerId, invoiceIds });
        const detail = `Backfill ${backfillId} fetches ${counted(invoiceIds.length, 'invoice')}.`;
        return { detail, next: { path: `${SECTION}/backfill/${backfillId}`, label: 'Follow its progress' } };
      });
    },
  },
  import: {
    async describe(requested, { settings }) {
      const { name, path } = requested;
      try {
        const checked = await importUpload(settings, path, true);
        const { outcome, invoiceId, sha256 } = checked;
        if (outcome.outcome !== 'checked' || outcome.outrankedBy !== null) throw refusedImport(name, checked);
        const { shipments, billingCost, currencyCode, proof } = outcome;
        return {
          ...PLAIN,
          title: 'Import the file',
          consequences: [
            `${printable(name)} contains ${counted(shipments, 'shipment')} of invoice ${invoiceId}, total ${billingCost} ${currencyCode ?? ''}; proof: ${proof}.`,
            'They count in every total and replace an earlier file of the invoice.',
          ],
          label: 'Import',
          command: 'import',
          target: [printable(name), sha256, String(invoiceId)],
        };
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },
    async perform({ name, path }, { settings }) {
      const imported = await importUpload(settings, path, false).finally(() => rm(path, { force: true }));
      const { outcome, invoiceId } = imported;
      const isLoaded = outcome.outcome === 'loaded' || outcome.outcome === 'already_loaded';
      if (!isLoaded || outcome.outrankedBy !== null) throw refusedImport(name, imported);
      const detail = `${printable(name)}: ${outcome.outcome.replace('_', ' ')}, ${counted(outcome.shipments, 'shipment')}, ${outcome.billingCost} ${outcome.currencyCode ?? ''}.`;
      return { detail, next: invoiceId === null ? null : pageOfInvoice(invoiceId) };
    },
  },
  acknowledge: {
    describe: (requested, { settings }) =>
      describeAlert(settings, requested.key, {
        title: 'Acknowledge this alert',
        effect:
          'It shows that you are working on it. Its notice is not repeated; it stays on the list until it is over.',
        label: 'Acknowledge',
        command: 'alerts acknowledge',
      }),
    async perform({ key }, { settings: { dataDir } }, { reason: note, by }) {
      await openAlert(dataDir, key);
      await acknowledgeAlerts(dataDir, [key], { at: new Date().toISOString(), by, note });
      return { detail: `${key} is acknowledged.`, next: PAGE_OF_ALERTS };
    },
  },
  quiet: {
    describe: ({ key, hours }, { settings }) =>
      describeAlert(settings, key, {
        title: 'Silence this alert',
        effect: `No notice of it is sent for ${counted(hours, 'hour')}; it stays on the list.`,
        label: 'Silence',
        command: 'alerts quiet',
      }),
    perform({ key, hours }, { settings }, decision) {
      const until = new Date(Date.now() + hours * 3_600_000).toISOString();
      return silence(settings, { key, until }, decision, `${key} is silenced until ${until}.`);
    },
  },
  unquiet: {
    describe: ({ key }, { settings }) =>
      describeAlert(settings, key, {
        title: 'Stop silencing this alert',
        effect: 'Notices of it are sent again.',
        label: 'Stop silencing',
        command: 'alerts quiet',
      }),
    perform({ key }, { settings }, decision) {
      const until = new Date().toISOString();
      return silence(settings, { key, until }, decision, `Notices of ${key} are sent again.`);
    },
  },
};

export function createOperatorWork(settings: Settings, quarantine: Quarantine): OperatorWork {
  const context = { settings, quarantine };
  const actionOf = ({ action }: RequestedAction) => ACTIONS[action] as Action<RequestedAction['action']>;
  return {
    describe: async (requested) => actionOf(requested).describe(requested, context),
    perform: (requested, reason, by) => actionOf(requested).perform(requested, context, { reason, by }),
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

export function uploadFolder({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return dataFolder(dataDir).uploads;
}

function performed(detail: string): Performed {
  return { detail, next: null };
}

function pageOfInvoice(invoiceId: string): Performed['next'] {
  return { path: `/invoices/${invoiceId}`, label: 'Show the invoice' };
}

function idsOfNames(settings: Settings, names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) throw new CliError(EXIT.nothingMatched, 'no invoice is named');
  return idsOf(
    settings,
    names.map((name) => ({ name, place: null })),
  );
}

async function quarantined(quarantine: Quarantine, id: string) {
  const found = /^[df]-[0-9a-f]{16}$/.test(id) ? await quarantine.show(id) : null;
  if (found !== null) return found.item;
  throw new CliError(EXIT.nothingMatched, 'nothing in quarantine has that id');
}

function ofQuarantined(id: string) {
  return { ...PLAIN, target: [id], back: `/quarantine/${id}` };
}

async function openAlert(dataDir: string, key: string) {
  const alert = (await openAlerts(dataDir)).find((open) => open.key === key);
  if (alert !== undefined) return alert;
  throw new CliError(EXIT.nothingMatched, 'no alert is open by that key');
}

async function describeAlert(
  settings: Settings,
  key: string,
  { effect, ...texts }: Pick<Described, 'title' | 'label' | 'command'> & { readonly effect: string },
): Promise<Described> {
  const { title, detail } = await openAlert(settings.dataDir, key);
  return {
    ...{ reasonLabel: 'Note (optional)', isReasonOptional: true, target: [key], back: '/alerts' },
    ...texts,
    consequences: [title, ...(detail === '' ? [] : [detail]), effect],
  };
}

async function silence(
  { dataDir }: Settings,
  { key, until }: { readonly key: string; readonly until: string },
  { reason: note, by }: { readonly reason: string; readonly by: string },
  detail: string,
): Promise<Performed> {
  await openAlert(dataDir, key);
  await quietAlerts(dataDir, [key], { at: new Date().toISOString(), by, note, until });
  return { detail, next: PAGE_OF_ALERTS };
}

async function importUpload(settings: Settings, path: string, dryRun: boolean): Promise<Imported> {
  const { requestImport } = await import('../../workflows/client/writer-client.ts');
  return withTemporal(settings, (client) =>
    requestImport(client, settings, { path, invoiceId: null, dryRun }),
  );
}

function refusedImport(name: string, imported: Imported): CliError {
  const { outcome } = imported;
  const isOutranked = 'shipments' in outcome && outcome.outrankedBy !== null;
  const result = isOutranked ? 'does not count' : `is not loaded: ${outcome.outcome.replace('_', ' ')}`;
  return new CliError(EXIT.rejected, `${printable(name)} ${result}`, {
    subject: whyNotLoaded(outcome, imported) ?? undefined,
  });
}
