/** What a person does about a refused delivery: requeue it after a fix, or discard it with a note. */

import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { parseDelivery } from '../lib/wire/parse-delivery.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';
import type { Inbox } from './inbox/inbox.ts';
import { isForeign } from './partner.ts';

export type RequeueOutcome =
  | { readonly outcome: 'requeued' | 'duplicate'; readonly eventId: string }
  | { readonly outcome: 'still-refused'; readonly code: string; readonly reason: string }
  | { readonly outcome: 'not-a-delivery' | 'not-found' };

/**
 * Reads a quarantined delivery again and puts it into the inbox, from which a forwarder takes it like any other. It
 * leaves the quarantine only then. A file is requeued by its invoice's workflow instead: `not-a-delivery`.
 */
export async function requeueDelivery(
  quarantineId: string,
  deps: {
    readonly settings: Pick<Settings, 'wirePrefix'>;
    readonly quarantine: Quarantine;
    readonly inbox: Inbox;
    readonly partnerIds: () => readonly string[];
    readonly dryRun?: boolean;
  },
): Promise<RequeueOutcome> {
  const shown = await deps.quarantine.show(quarantineId);
  if (shown === null) return { outcome: 'not-found' };
  if (shown.thing.kind !== 'delivery' || shown.body === null) return { outcome: 'not-a-delivery' };
  const parsed = parseDelivery(shown.body, {
    wirePrefix: deps.settings.wirePrefix,
    partnerId: deps.partnerIds()[0],
  });
  if (parsed.kind === 'unusable' || parsed.kind === 'unsupported') {
    return { outcome: 'still-refused', code: parsed.code, reason: parsed.message };
  }
  if (parsed.kind === 'event' && isForeign(parsed.event, deps.partnerIds())) {
    const reason = `Partner ${parsed.event.partnerId} is still not ours (BILLSYNC_PARTNER_ID).`;
    return { outcome: 'still-refused', code: 'foreign-partner', reason };
  }
  const eventId = parsed.kind === 'event' ? parsed.event.eventId : parsed.eventId;
  const entry = {
    kind: parsed.kind,
    eventId,
    // When it really came, not when somebody repaired the reason.
    receivedAt: shown.thing.at,
    invoiceId: parsed.kind === 'event' ? parsed.event.invoice.invoiceId : null,
    code: null,
  };
  if (deps.dryRun === true) {
    return { outcome: (await deps.inbox.has(entry)) === 'no' ? 'requeued' : 'duplicate', eventId };
  }
  const kept = await deps.inbox.accept(entry, shown.body);
  await deps.quarantine.remove(quarantineId);
  return { outcome: kept === 'accepted' ? 'requeued' : 'duplicate', eventId };
}

/** Removes a refused thing for good; that somebody decided so stays in the archive. @returns false: not found */
export async function discardQuarantined(
  quarantineId: string,
  deps: {
    readonly quarantine: Quarantine;
    readonly archive: Archive;
    readonly note: string;
    readonly now?: () => Date;
  },
): Promise<boolean> {
  if ((await deps.quarantine.show(quarantineId)) === null) return false;
  const at = (deps.now?.() ?? new Date()).toISOString();
  await deps.archive.putFact({ kind: 'discard', at, quarantineId, note: deps.note });
  await deps.quarantine.remove(quarantineId);
  return true;
}
