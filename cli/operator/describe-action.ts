/** What an operator is asked to agree to: what will happen, in sentences, before anything does. */

import type { Described, RequestedAction } from '../../dashboard/operator/operator-work.ts';
import type { Settings } from '../../lib/config/settings.ts';
import type { Quarantine } from '../../lib/wire/quarantine.ts';
import { CliError, EXIT } from '../errors.ts';
import { counted } from '../terminal/output.ts';
import { openAlertOf } from './alert-decision.ts';
import { checkUpload } from './import-upload.ts';
import { idsOfWords, publishedInvoice, SECTION } from './named-invoices.ts';

/** What is named in a description and in the audit log; the rest is counted. */
const MOST_NAMED = 100;
/** What most have in common. */
const PLAIN = { reasonLabel: null, target: [], back: SECTION } as const;

type Requested<Action extends RequestedAction['action']> = Extract<
  RequestedAction,
  { readonly action: Action }
>;

/** @throws CliError what it names is not there */
export async function describeAction(
  requested: RequestedAction,
  { settings, quarantine }: { readonly settings: Settings; readonly quarantine: Quarantine },
): Promise<Described> {
  switch (requested.action) {
    case 'retry':
      return describeRetry(requested, settings);
    case 'requeue':
    case 'discard':
      return describeRefused(requested, quarantine);
    case 'publish':
      return describePublish();
    case 'pause':
    case 'resume':
      return describeSchedule(requested.action, settings);
    case 'backfill':
      return describeBackfill(requested, settings);
    case 'import':
      return checkUpload(settings, requested);
    case 'acknowledge':
    case 'quiet':
    case 'unquiet':
      return describeAlert(requested, settings);
  }
}

async function describeRetry({ invoiceId }: Requested<'retry'>, settings: Settings): Promise<Described> {
  const invoice = await publishedInvoice(settings, invoiceId);
  const id = String(invoice.invoice_id);
  const number = String(invoice.invoice_number ?? id);
  return {
    ...PLAIN,
    title: `Retry invoice ${number}`,
    consequences: [
      `Invoice ${number} of ${String(invoice.tenant ?? 'an unknown tenant')} is ${String(invoice.state)} now.`,
      'Its workflow asks the service again and loads the file it gets; a file that is already loaded is not counted twice.',
    ],
    label: 'Retry',
    command: 'invoices retry',
    target: [id],
    back: `/invoices/${id}`,
  };
}

async function describeRefused(
  { action, quarantineId: id }: Requested<'requeue' | 'discard'>,
  quarantine: Quarantine,
): Promise<Described> {
  const shown = /^[df]-[0-9a-f]{16}$/.test(id) ? await quarantine.show(id) : null;
  if (shown === null) throw new CliError(EXIT.nothingMatched, 'nothing in quarantine has that id');
  const { kind, reason } = shown.thing;
  const common = { ...PLAIN, command: `quarantine ${action}`, target: [id], back: `/quarantine/${id}` };
  if (action === 'requeue') {
    const what =
      kind === 'delivery'
        ? 'The delivery is processed again as if it had just arrived, and leaves quarantine.'
        : 'A new file is requested for the invoice; this one leaves quarantine when the new file is loaded.';
    return { ...common, title: 'Requeue it', consequences: [reason, what], label: 'Requeue' };
  }
  const what = 'What was refused is deleted, and an event in it is never acted on.';
  return {
    ...common,
    title: 'Discard it',
    consequences: [reason, what, 'This cannot be undone.'],
    label: 'Discard',
    reasonLabel: 'Why',
  };
}

function describePublish(): Described {
  return {
    ...PLAIN,
    title: 'Publish now',
    consequences: [
      'Everything committed so far is published; readers see it immediately. Nothing else changes.',
    ],
    label: 'Publish',
    command: 'snapshot',
  };
}

function describeSchedule(action: 'pause' | 'resume', { reconcileEvery }: Settings): Described {
  if (action === 'resume') {
    return {
      ...PLAIN,
      title: 'Resume the schedule',
      consequences: [`Reconciliation runs automatically again, every ${reconcileEvery}.`],
      label: 'Resume',
      command: 'schedule resume',
    };
  }
  return {
    ...PLAIN,
    title: 'Pause the schedule',
    consequences: [
      `Reconciliation no longer runs every ${reconcileEvery}; a run in progress finishes.`,
      'Until it is resumed, overdue invoices are not requested and no totals are verified.',
    ],
    label: 'Pause',
    command: 'schedule pause',
    reasonLabel: 'Why',
  };
}

async function describeBackfill({ words }: Requested<'backfill'>, settings: Settings): Promise<Described> {
  const ids = await idsOfWords(settings, words);
  const named = ids.slice(0, MOST_NAMED);
  const asked = counted(ids.length, 'invoice');
  return {
    ...PLAIN,
    title: `Fetch ${asked}`,
    consequences: [
      `The service is asked for ${asked}; files of finalized invoices are downloaded and loaded; a file that is already loaded is not counted twice.`,
      ...named,
      ...(ids.length > named.length ? [`And ${ids.length - named.length} more.`] : []),
    ],
    label: 'Fetch',
    command: 'backfill',
    target: named,
  };
}

async function describeAlert(
  requested: Requested<'acknowledge' | 'unquiet'> | Requested<'quiet'>,
  settings: Settings,
): Promise<Described> {
  const { title, detail } = await openAlertOf(settings, requested.key);
  const common = {
    ...PLAIN,
    target: [requested.key],
    back: '/alerts',
    reasonLabel: 'Note, for whoever looks next',
    isReasonOptional: true,
  };
  const says = [title, ...(detail === '' ? [] : [detail])];
  if (requested.action === 'acknowledge') {
    return {
      ...common,
      title: 'Acknowledge this alert',
      consequences: [
        ...says,
        'It shows that you are dealing with it: it is not repeated while it lasts, and stays on the list until it is over.',
      ],
      label: 'Acknowledge',
      command: 'alerts acknowledge',
    };
  }
  const isQuiet = requested.action === 'quiet';
  const becomes = isQuiet
    ? `No notice of it is sent for ${counted(requested.hours, 'hour')}; it stays on the list.`
    : 'Notices of it are sent again.';
  return {
    ...common,
    title: isQuiet ? 'Silence this alert' : 'Stop silencing this alert',
    consequences: [...says, becomes],
    label: isQuiet ? 'Silence' : 'Stop silencing',
    command: 'alerts quiet',
  };
}
