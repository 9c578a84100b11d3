import type { Archive, ArchivedEvent } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import type { InvoiceEvent } from '../lib/wire/invoice-event.ts';
import type { EventType } from '../lib/wire/names.ts';
import { parseDelivery } from '../lib/wire/parse-delivery.ts';
import type { Inbox, InboxEntry } from './inbox/inbox.ts';
import { isForeign, storeEvent } from './receive-delivery.ts';

export interface ReplayOptions {
  readonly archive: Archive;
  readonly send: (event: InvoiceEvent) => Promise<void>;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly type?: EventType | undefined;
  readonly invoiceId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly onEvent?: (event: ArchivedEvent) => void;
}

/**
 * Harmless, because workflow and ledger recognize the events. Test events are not sent (spec 6, rule 4). Archived
 * URLs have no query, so a missing file is fetched through a regenerated URL.
 */
export async function replayEvents(options: ReplayOptions): Promise<number> {
  let sent = 0;
  for await (const { event } of options.archive.events()) {
    if (event.verdict !== 'accepted' || event.event === null || !matches(event, event.event, options))
      continue;
    options.onEvent?.(event);
    await options.send(event.event);
    sent += 1;
  }
  return sent;
}

function matches(archived: ArchivedEvent, event: InvoiceEvent, options: ReplayOptions): boolean {
  const { since, until, type, invoiceId, tenantId } = options;
  const receivedMs = Date.parse(archived.receivedAt);
  if (since !== undefined && receivedMs < Date.parse(since)) return false;
  if (until !== undefined && receivedMs >= Date.parse(until)) return false;
  if (type !== undefined && event.eventType !== type) return false;
  if (invoiceId !== undefined && event.invoice.invoiceId.toLowerCase() !== invoiceId.toLowerCase())
    return false;
  if (tenantId === undefined) return true;
  return (
    event.invoice.tenantId?.toLowerCase() === tenantId.toLowerCase() ||
    event.invoice.partnerTenantId === tenantId
  );
}

export type RequeueOutcome =
  | { readonly outcome: 'requeued' | 'duplicate'; readonly eventId: string }
  | { readonly outcome: 'still-refused'; readonly code: string; readonly reason: string }
  | { readonly outcome: 'not-a-delivery' | 'not-found' };

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
  const quarantined = await deps.quarantine.show(quarantineId);
  if (quarantined === null) return { outcome: 'not-found' };
  const { item, body } = quarantined;
  if (body === null) return { outcome: 'not-a-delivery' };
  const parsed = parseDelivery(body, {
    wirePrefix: deps.settings.wirePrefix,
    partnerIds: deps.partnerIds(),
  });
  if (parsed.kind === 'unusable' || parsed.kind === 'unsupported') {
    return { outcome: 'still-refused', code: parsed.code, reason: parsed.message };
  }
  if (parsed.kind === 'event' && isForeign(parsed.event, deps.partnerIds())) {
    const reason = `Partner ${parsed.event.partnerId} is still not ours (BILLSYNC_PARTNER_ID).`;
    return { outcome: 'still-refused', code: 'foreign-partner', reason };
  }
  const { kind } = parsed;
  const eventId = kind === 'event' ? parsed.event.eventId : parsed.eventId;
  if (deps.dryRun === true) {
    const isNew = (await deps.inbox.has({ kind, eventId })) === 'no';
    return { outcome: isNew ? 'requeued' : 'duplicate', eventId };
  }
  const accept = (entry: InboxEntry) => deps.inbox.accept(entry, body);
  const status =
    kind === 'event'
      ? (await storeEvent(parsed.event, item.at, accept)).status
      : await accept({ kind, eventId, receivedAt: item.at, invoiceId: null, code: null });
  await deps.quarantine.remove(quarantineId);
  return { outcome: status === 'accepted' ? 'requeued' : 'duplicate', eventId };
}

export async function discardQuarantined(
  quarantineId: string,
  deps: {
    readonly quarantine: Quarantine;
    readonly archive: Archive;
    readonly note: string;
  },
): Promise<boolean> {
  if ((await deps.quarantine.show(quarantineId)) === null) return false;
  const at = new Date().toISOString();
  await deps.archive.putFact({ kind: 'discard', at, quarantineId, note: deps.note });
  await deps.quarantine.remove(quarantineId);
  return true;
}
