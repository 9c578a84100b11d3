/** Tells that the quarantine is full: what was refused longest ago goes for it, and somebody may still have wanted it. */

import type { QuarantinedThing } from '../contract/quarantine.js';
import type { Alerts } from '../ops/alerts.js';
import type { Logger } from '../ops/log.js';

/** For `QuarantineOptions.onDropped`; each is logged, the alert is said once per quiet window. */
export function tellDropped(deps: {
  readonly log: Logger;
  readonly alerts: Alerts;
}): (thing: QuarantinedThing) => void {
  return ({ quarantineId, kind, code, at, invoiceId, eventId }) => {
    deps.log.error({ quarantineId, kind, code, at, invoiceId, eventId }, 'dropped from a full quarantine');
    deps.alerts.raise({
      key: 'quarantine/full',
      title: 'The quarantine is full, and the oldest refused things are dropped',
      detail: `The last was ${quarantineId} (${code}, ${at}); the log names each. \`billsync quarantine list\`, then requeue or discard.`,
    });
  };
}
