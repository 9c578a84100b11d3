/**
 * The actions of the dashboard's operators: their descriptions, which an operator confirms, and those on alerts and
 * uploads.
 */

import { rm } from 'node:fs/promises';
import type { Described, Performed, RequestedAction } from '../../dashboard/operator/operator-work.ts';
import { acknowledgeAlerts, type OpenAlert, openAlerts, quietAlerts } from '../../lib/alerts/alert-store.ts';
import type { Settings } from '../../lib/config/settings.ts';
import type { Quarantine } from '../../lib/wire/quarantine.ts';
import { printable } from '../../lib/wire/text.ts';
import type { Imported } from '../../lib/wire/warehouse-requests.ts';
import { whyNotLoaded } from '../commands/import.ts';
import { CliError, EXIT } from '../errors.ts';
import { idsOf, publishedInvoice } from '../find-invoices.ts';
import { counted } from '../terminal/output.ts';
import { withTemporal } from '../with-temporal.ts';

/** Ids in a description and in the audit log; more are counted. */
const MAX_NAMED = 100;
export const SECTION = '/operator';
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
      'Its workflow calls the service again and loads the file that it receives; a file that is already loaded is not counted twice.',
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
  const { kind, reason } = shown.item;
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
  const ids = await idsOfNames(settings, words);
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
    reasonLabel: 'Note (optional)',
    isReasonOptional: true,
  };
  const sentences = [title, ...(detail === '' ? [] : [detail])];
  if (requested.action === 'acknowledge') {
    return {
      ...common,
      title: 'Acknowledge this alert',
      consequences: [
        ...sentences,
        'It shows that you are working on it. Its notice is not repeated; it stays on the list until it is over.',
      ],
      label: 'Acknowledge',
      command: 'alerts acknowledge',
    };
  }
  const isQuiet = requested.action === 'quiet';
  const effect = isQuiet
    ? `No notice of it is sent for ${counted(requested.hours, 'hour')}; it stays on the list.`
    : 'Notices of it are sent again.';
  return {
    ...common,
    title: isQuiet ? 'Silence this alert' : 'Stop silencing this alert',
    consequences: [...sentences, effect],
    label: isQuiet ? 'Silence' : 'Stop silencing',
    command: 'alerts quiet',
  };
}

/** @throws CliError no invoice is named, or one is unknown */
export async function idsOfNames(settings: Settings, names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) throw new CliError(EXIT.nothingMatched, 'no invoice is named');
  return idsOf(
    settings,
    names.map((name) => ({ name, place: null })),
  );
}

export function pageOfInvoice(invoiceId: string): Performed['next'] {
  return { path: `/invoices/${invoiceId}`, label: 'Show the invoice' };
}

export type AlertAction = Extract<RequestedAction, { readonly key: string }>;

/** @throws CliError it is over, or there never was one */
export async function openAlertOf(settings: Settings, key: string): Promise<OpenAlert> {
  const alert = (await openAlerts(settings.dataDir)).find((open) => open.key === key);
  if (alert === undefined) throw new CliError(EXIT.nothingMatched, 'no alert is open by that key');
  return alert;
}

/** @throws CliError as above */
export async function decideOnAlert(
  settings: Settings,
  requested: AlertAction,
  { by, note }: { readonly by: string; readonly note: string },
): Promise<Performed> {
  const { action, key } = requested;
  await openAlertOf(settings, key);
  const nowMs = Date.now();
  const at = new Date(nowMs).toISOString();
  if (action === 'acknowledge') {
    await acknowledgeAlerts(settings.dataDir, [key], { at, by, note });
    return { detail: `${key} is acknowledged.`, next: ALERTS };
  }
  const until = action === 'quiet' ? new Date(nowMs + requested.hours * 3_600_000).toISOString() : at;
  await quietAlerts(settings.dataDir, [key], { at, by, note, until });
  const detail =
    action === 'quiet' ? `${key} is silenced until ${until}.` : `Notices of ${key} are sent again.`;
  return { detail, next: ALERTS };
}

const ALERTS = { path: '/alerts', label: 'Show the alerts' } as const;

type Upload = Extract<RequestedAction, { readonly action: 'import' }>;

/** @throws CliError it would not be loaded; the file is removed then */
export async function checkUpload(settings: Settings, requested: Upload): Promise<Described> {
  try {
    const checked = await ask(settings, requested, true);
    if (checked.outcome.outcome !== 'checked' || checked.outcome.outrankedBy !== null)
      throw refusal(requested, checked);
    const { shipments, billingCost, currencyCode, proof } = checked.outcome;
    const consequences = [
      `${printable(requested.name)} contains ${counted(shipments, 'shipment')} of invoice ${checked.invoiceId}, total ${billingCost} ${currencyCode ?? ''}; proof: ${proof}.`,
      'They count in every total and replace an earlier file of the invoice.',
    ];
    return {
      ...{ title: 'Import the file', consequences, label: 'Import', reasonLabel: null, command: 'import' },
      ...{
        target: [printable(requested.name), checked.sha256, String(checked.invoiceId)],
        back: '/operator',
      },
    };
  } catch (error) {
    await rm(requested.path, { force: true });
    throw error;
  }
}

export async function importUpload(settings: Settings, requested: Upload): Promise<Performed> {
  try {
    const imported = await ask(settings, requested, false);
    const { outcome } = imported;
    if (
      (outcome.outcome !== 'loaded' && outcome.outcome !== 'already_loaded') ||
      outcome.outrankedBy !== null
    )
      throw refusal(requested, imported);
    const detail = `${printable(requested.name)}: ${outcome.outcome.replace('_', ' ')}, ${counted(outcome.shipments, 'shipment')}, ${outcome.billingCost} ${outcome.currencyCode ?? ''}.`;
    return { detail, next: imported.invoiceId === null ? null : pageOfInvoice(imported.invoiceId) };
  } finally {
    await rm(requested.path, { force: true });
  }
}

async function ask(settings: Settings, { path }: Upload, dryRun: boolean): Promise<Imported> {
  const { requestImport } = await import('../../workflows/client/writer-client.ts');
  return withTemporal(settings, (client) =>
    requestImport(client, settings, { path, invoiceId: null, dryRun }),
  );
}

function refusal({ name }: Upload, imported: Imported): CliError {
  const { outcome } = imported;
  const isOutranked = 'shipments' in outcome && outcome.outrankedBy !== null;
  const what = isOutranked ? 'does not count' : `is not loaded: ${outcome.outcome.replace('_', ' ')}`;
  return new CliError(EXIT.rejected, `${printable(name)} ${what}`, {
    subject: whyNotLoaded(outcome, imported) ?? undefined,
  });
}
