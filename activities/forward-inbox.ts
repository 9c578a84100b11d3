/** Forwards acknowledged deliveries that no endpoint process has forwarded, and raises an alert if there are any. */

import { getClient } from '@temporalio/activity';
import { sendInvoiceEvent } from '../workflows/client/invoice-client.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface ForwardInboxRequest {
  readonly queues: { readonly billing: string; readonly warehouse: string };
}

export interface ForwardInboxResult {
  readonly forwarded: number;
  readonly waiting: number;
}

const ALERT_KEY = 'inbox/left-behind';
/** A living endpoint forwards within seconds; what is older was tried and failed, or lies there untouched. */
const LEFT_BEHIND_MS = 10 * 60_000;

export function forwardInbox({ forwardOverdue, settings, alerts, now }: WarehouseDependencies) {
  return ({ queues }: ForwardInboxRequest): Promise<ForwardInboxResult> =>
    translated(async () => {
      const { environment, overdueAfter, confirmVoids } = settings;
      const client = getClient();
      const { forwarded, waiting, oldestReceivedAt } = await forwardOverdue({
        send: (event) => sendInvoiceEvent(client, { environment, overdueAfter, confirmVoids, queues }, event),
      });
      const ageMs = oldestReceivedAt === null ? 0 : now().getTime() - Date.parse(oldestReceivedAt);
      if (ageMs > LEFT_BEHIND_MS) {
        const title = `${waiting} acknowledged deliveries still wait in the inbox, the oldest since ${oldestReceivedAt}`;
        const detail = 'Nothing is lost. See `billsync doctor`, and whether the endpoint runs.';
        alerts.raise({ key: ALERT_KEY, title, detail });
      } else alerts.resolve(ALERT_KEY);
      return { forwarded, waiting };
    });
}
