/** Reports that the quarantine is full: its oldest entry is dropped, which somebody may still have needed. */

import type { Alerts } from '../../lib/alerts/alerts.ts';
import type { Logger } from '../../lib/log/log.ts';
import type { QuarantinedThing } from '../../lib/wire/quarantine.ts';

/** For `QuarantineOptions.onDropped`; each is logged, the alert is sent once per quiet window. */
export function tellDropped(deps: {
  readonly log: Logger;
  readonly alerts: Alerts;
}): (thing: QuarantinedThing) => void {
  return ({ quarantineId, kind, code, at, invoiceId, eventId }) => {
    deps.log.error({ quarantineId, kind, code, at, invoiceId, eventId }, 'dropped from a full quarantine');
    deps.alerts.raise({
      key: 'quarantine/full',
      title: 'The quarantine is full, and its oldest entries are dropped',
      detail: `The last was ${quarantineId} (${code}, ${at}); the log names each. \`billsync quarantine list\`, then requeue or discard.`,
    });
  };
}
