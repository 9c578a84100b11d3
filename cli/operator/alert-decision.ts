/** What an operator decides about an alert that is open, as `billsync alerts` does. */

import { join } from 'node:path';
import type { Performed, RequestedAction } from '../../dashboard/operator/operator-work.ts';
import { decideOnAlerts, type OpenAlert, openAlerts } from '../../lib/alerts/alert-store.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { CliError, EXIT } from '../errors.ts';

export type AlertAction = Extract<RequestedAction, { readonly key: string }>;

/** @throws CliError it is over, or there never was one */
export async function openAlertOf(settings: Settings, key: string): Promise<OpenAlert> {
  const alert = (await openAlerts(runFolder(settings))).find((open) => open.key === key);
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
  const said = { at, by, note, key };
  if (action === 'acknowledge') {
    await decideOnAlerts(runFolder(settings), [{ ...said, kind: 'acknowledged', until: null }]);
    return { detail: `${key} is acknowledged.`, next: ALERTS };
  }
  const until = action === 'quiet' ? new Date(nowMs + requested.hours * 3_600_000).toISOString() : at;
  await decideOnAlerts(runFolder(settings), [{ ...said, kind: 'quieted', until }]);
  const detail =
    action === 'quiet' ? `${key} is silenced until ${until}.` : `Notices of ${key} are sent again.`;
  return { detail, next: ALERTS };
}

const ALERTS = { path: '/alerts', label: 'Show the alerts' } as const;

function runFolder({ dataDir }: Settings): string {
  return join(dataDir, 'run');
}
