import { createHash } from 'node:crypto';
import type { Archive } from '../archive/archive.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import type { InvoiceEvent } from '../lib/wire/invoice-event.ts';
import { idMadeFrom } from '../lib/wire/lenient-values.ts';
import { EVENTS } from '../lib/wire/names.ts';
import { type ParsedDelivery, parseDelivery } from '../lib/wire/parse-delivery.ts';
import type { Accepted, Inbox, InboxEntry } from './inbox/inbox.ts';

export interface ReceiveDeps {
  readonly settings: Pick<Settings, 'wirePrefix'>;
  readonly inbox: Inbox;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  /** The ids of our partner; the list is empty until the first token, and then the forwarder checks the partner. */
  readonly partnerIds: () => readonly string[];
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly alerts?: Alerts;
  readonly now?: () => Date;
}

export interface Answer {
  readonly statusCode: 200 | 202 | 400;
  readonly status: 'accepted' | 'duplicate' | 'ignored' | 'quarantined' | 'rejected';
  readonly eventId: string | null;
}

export type Receiver = ReturnType<typeof createReceiver>;

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly eventId: string | null;
  readonly invoiceId: string | null;
}

/** The reason that is recorded with an event whose id another event had: its file is requested from the service. */
export const REPEATED_ID = 'repeated-id';
const MAX_BACKGROUND_WRITES = 1_000;
/** A larger difference is logged, because no network delay explains it: one of two clocks is wrong. */
const MAX_UNLOGGED_SKEW_MS = 2 * 60_000;
const MAX_UNUSABLE_BYTES = 64 * 1024;
const MAX_UNUSABLE_PER_DAY = 500;

export function createReceiver(deps: ReceiveDeps) {
  const { inbox, archive, quarantine, log, alerts, now = () => new Date() } = deps;
  const background = new Set<Promise<void>>();
  let unusable = { day: '', count: 0 };

  /** Resolves once the delivery is durable. @throws FsyncError, or the system's error: nothing was promised */
  async function receive(body: Uint8Array): Promise<Answer> {
    const receivedAt = now().toISOString();
    const { wirePrefix } = deps.settings;
    const parsed = parseDelivery(body, { wirePrefix, partnerIds: deps.partnerIds() });
    switch (parsed.kind) {
      case 'unusable':
        return reject(parsed, body, receivedAt);
      case 'unsupported':
        return refuse(parsed, body, receivedAt);
      case 'test': {
        const { eventId } = parsed;
        await store({ kind: 'test', eventId, receivedAt, invoiceId: null, code: null }, body);
        // A duplicate is answered alike, so that the service's test button always shows the same result.
        return { statusCode: 200, status: 'ignored', eventId };
      }
      case 'event': {
        const { event } = parsed;
        if (isForeign(event, deps.partnerIds())) return refuse(foreignRefusal(event), body, receivedAt);
        reportOddities(parsed, receivedAt);
        const { eventId } = event;
        const { status, hasRepeatedId } = await storeEvent(event, receivedAt, (entry) =>
          store(entry, body, entry.code === null ? parsed : undefined),
        );
        if (hasRepeatedId && status === 'accepted') alertRepeatedId(eventId, event.invoice.invoiceId);
        return { statusCode: 200, status, eventId };
      }
    }
  }

  async function store(entry: InboxEntry, body: Uint8Array, parsed?: ParsedDelivery): Promise<Accepted> {
    const stored = await inbox.accept(entry, body, parsed);
    const { receivedAt: at, eventId } = entry;
    if (stored === 'duplicate') inBackground(() => archive.putFact({ kind: 'duplicate', at, eventId }));
    return stored;
  }

  function alertRepeatedId(eventId: string, invoiceId: string): void {
    alerts?.raise({
      key: 'event-id-repeated',
      title: 'Two different events have one id',
      detail: `Event ${eventId} was received again with another content, for invoice ${invoiceId}. Both were kept, the second under an id of its own; the service is asked for its file. Report it to the service.`,
    });
  }

  /** Logs what is odd in an event; none of it is a reason to refuse the event (faults: clock skew; ADR 7). */
  function reportOddities(
    { event, unread, contradictory }: Extract<ParsedDelivery, { kind: 'event' }>,
    receivedAt: string,
  ): void {
    const { eventId, eventTimestamp, invoice } = event;
    const aheadMs = Date.parse(eventTimestamp) - Date.parse(receivedAt);
    if (aheadMs > MAX_UNLOGGED_SKEW_MS) {
      const aheadSeconds = Math.round(aheadMs / 1_000);
      log.warn(
        { eventId, aheadSeconds },
        'an event has a timestamp in the future: our clock or that of the service is wrong',
      );
    }
    if (unread.length > 0) {
      log.warn({ eventId, unread }, 'an event lacks fields; they are requested from the service');
    }
    if (contradictory.length === 0) return;
    alerts?.raise({
      key: 'delivery-contradicts-itself',
      title: 'A delivery has two different values for one field',
      detail: `Event ${eventId} of invoice ${invoice.invoiceId} has two values for ${contradictory.slice(0, 5).join(', ')}. It was kept and neither value is used; both are requested from the service. Report it to the service; billsync events show ${eventId} has all values.`,
    });
  }

  async function refuse(
    refusal: Refusal & { readonly eventId: string },
    body: Uint8Array,
    receivedAt: string,
  ): Promise<Answer> {
    const { eventId, invoiceId, code, message } = refusal;
    const entry = { kind: 'refused', eventId, receivedAt, invoiceId, code } as const;
    if ((await inbox.has(entry)) === 'no') await quarantineBody(refusal, body, receivedAt);
    if ((await store(entry, body)) === 'duplicate') return { statusCode: 200, status: 'duplicate', eventId };
    alertRefused(alerts, refusal);
    // An invoice of another partner does not belong in our list.
    if (code !== 'foreign-partner') markInvoice(invoiceId, message, receivedAt);
    return { statusCode: 202, status: 'quarantined', eventId };
  }

  async function reject(
    parsed: Extract<ParsedDelivery, { kind: 'unusable' }>,
    body: Uint8Array,
    receivedAt: string,
  ): Promise<Answer> {
    const { code, message, eventId, invoiceId, envelope } = parsed;
    const answer = { statusCode: 400, status: 'rejected', eventId: null } as const;
    if (!mayKeepUnusable(receivedAt)) {
      deps.metrics.counter('quarantined_total').inc({ code });
      log.warn({ code, eventId, reason: message }, 'an unusable delivery was refused and not kept');
      return answer;
    }
    const isCut = body.byteLength > MAX_UNUSABLE_BYTES;
    const cut = `${message} Only the first ${MAX_UNUSABLE_BYTES} of its ${body.byteLength} bytes are kept.`;
    const refusal = { code, message, eventId, invoiceId };
    const kept = body.subarray(0, MAX_UNUSABLE_BYTES);
    await quarantineBody({ ...refusal, message: isCut ? cut : message }, kept, receivedAt);
    alertRefused(alerts, refusal);
    markInvoice(invoiceId, message, receivedAt);
    if (eventId !== null && envelope !== null && !isCut) {
      const event = {
        eventId,
        receivedAt,
        verdict: 'quarantined',
        reason: code,
        event: null,
        envelope,
      } as const;
      inBackground(async () => void (await archive.putEvent(event)));
    }
    return answer;
  }

  function mayKeepUnusable(receivedAt: string): boolean {
    const day = receivedAt.slice(0, 10);
    unusable = { day, count: unusable.day === day ? unusable.count + 1 : 1 };
    if (unusable.count <= MAX_UNUSABLE_PER_DAY) return true;
    alerts?.raise({
      key: 'quarantine/flood',
      title: 'More unusable deliveries arrive than are kept',
      detail: `${MAX_UNUSABLE_PER_DAY} of ${day} are in quarantine; all others of that day are answered 400, counted, and not kept.`,
    });
    return false;
  }

  async function quarantineBody(
    { code, message: reason, eventId, invoiceId }: Refusal,
    body: Uint8Array,
    at: string,
  ): Promise<void> {
    const item = { kind: 'delivery', code, reason, eventId, invoiceId, at, sha256: null } as const;
    await quarantine.put({ ...item, findings: [], findingCount: 0 }, body);
    deps.metrics.counter('quarantined_total').inc({ code });
    log.warn({ code, eventId, reason }, 'a delivery was quarantined');
  }

  function markInvoice(invoiceId: string | null, message: string, at: string): void {
    if (invoiceId === null) return;
    const reason = `A delivery about this invoice was refused: ${message} See billsync quarantine list.`;
    inBackground(() =>
      archive.putFact({ kind: 'attention', at, invoiceId, code: 'delivery-refused', reason }),
    );
  }

  function inBackground(write: () => Promise<void>): void {
    if (background.size >= MAX_BACKGROUND_WRITES) return;
    const writing = write()
      .catch((error: unknown) => log.warn({ err: error }, 'a record about a delivery could not be archived'))
      .finally(() => background.delete(writing));
    background.add(writing);
  }

  return {
    receive,
    async settle(): Promise<void> {
      await Promise.all(background);
    },
  };
}

/** An event whose id another event had is stored under an id of its own. */
export async function storeEvent(
  event: InvoiceEvent,
  receivedAt: string,
  accept: (entry: InboxEntry) => Promise<Accepted>,
): Promise<{ readonly status: Exclude<Accepted, 'other'>; readonly hasRepeatedId: boolean }> {
  const { eventId, eventType, invoice } = event;
  const content = contentOf(event);
  const isVoid = EVENTS[eventType].status === 'voided';
  const about = { receivedAt, invoiceId: invoice.invoiceId, code: null, isVoid, content };
  const entry = { kind: 'event', eventId, ...about } as const;
  const stored = await accept(entry);
  if (stored !== 'other') return { status: stored, hasRepeatedId: false };
  const other = { ...entry, eventId: idMadeFrom(eventId + content), code: REPEATED_ID };
  return { status: (await accept(other)) === 'accepted' ? 'accepted' : 'duplicate', hasRepeatedId: true };
}

export function alertRefused(
  alerts: Alerts | undefined,
  { code, message, eventId, invoiceId }: Refusal,
): void {
  const subjects = [
    ...(eventId === null ? [] : [`Event ${eventId}.`]),
    ...(invoiceId === null ? [] : [`Invoice ${invoiceId}.`]),
  ].join(' ');
  alerts?.raise({
    key: `quarantine/${code}`,
    title: `A delivery was refused: ${code}`,
    detail: `${message} ${subjects} See billsync quarantine list; after a fix, billsync quarantine requeue.`,
  });
}

/** The content without the URL, its expiry and the timestamp of the event, which a sender may renew with each attempt. */
function contentOf({ eventType, invoice, export: location }: InvoiceEvent): string {
  const { fileHashSha256 = null, fileSizeBytes = null } = location ?? {};
  const stated = Object.entries(invoice).sort(([a], [b]) => (a < b ? -1 : 1));
  const content = JSON.stringify([eventType, stated, fileHashSha256, fileSizeBytes]);
  return createHash('sha256').update(content).digest('hex').slice(0, 32);
}

/** Such an event must never reach a total. Without known ids of ours no event is foreign. */
export function isForeign(event: InvoiceEvent, partnerIds: readonly string[]): boolean {
  if (partnerIds.length === 0 || event.partnerId === '') return false;
  return !partnerIds.some((partnerId) => partnerId.toLowerCase() === event.partnerId.toLowerCase());
}

export function foreignRefusal(event: InvoiceEvent): Refusal & { readonly eventId: string } {
  return {
    eventId: event.eventId,
    invoiceId: event.invoice.invoiceId,
    code: 'foreign-partner',
    message: `The delivery is for partner ${event.partnerId}, which is not ours (BILLSYNC_PARTNER_ID).`,
  };
}
