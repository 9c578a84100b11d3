/** Receives a delivery: it is stored on disk first, answered afterwards, and acted on by the forwarder. */

import type { Archive } from '../archive/archive.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { InvoiceEvent } from '../lib/wire/names.ts';
import type { ParsedDelivery } from '../lib/wire/parse-delivery.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';
import type { DeliveryKind, Inbox } from './inbox/inbox.ts';
import { parseOnce } from './parse-once.ts';
import { isForeign } from './partner.ts';

export interface ReceiveDeps {
  readonly settings: Pick<Settings, 'wirePrefix'>;
  readonly inbox: Inbox;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  /** Empty until a token was had: then the forwarder checks. */
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

export interface Receiver {
  /** Resolves once what the answer says is durable. @throws FsyncError, or the system's error: nothing was promised */
  receive(body: Uint8Array): Promise<Answer>;
  /** Waits for the notes that no answer waits for. */
  settle(): Promise<void>;
}

/** Notes nobody waits for (a count, a copy of rubbish) are given up when an archive is slower than its senders. */
const MOST_NOTES = 1_000;
/** No network takes so long backwards: one of two clocks is wrong. */
const SKEW_WORTH_TELLING_MS = 2 * 60_000;

/** Bytes kept of an unusable body; its beginning shows a person what it is. */
const MAX_UNUSABLE_BYTES = 64 * 1024;
/** Kept of one UTC day; a sender that is broken sends the same few again and again. */
const MAX_UNUSABLE_A_DAY = 500;

export function createReceiver(deps: ReceiveDeps): Receiver {
  const { inbox, archive, quarantine, log, now = () => new Date() } = deps;
  const notes = new Set<Promise<void>>();
  let unusable = { day: '', kept: 0 };

  /** false: so many were kept today that this one is only answered, logged and counted. */
  function mayKeepUnusable(receivedAt: string): boolean {
    const day = receivedAt.slice(0, 10);
    unusable = unusable.day === day ? unusable : { day, kept: 0 };
    unusable.kept += 1;
    if (unusable.kept <= MAX_UNUSABLE_A_DAY) return true;
    deps.alerts?.raise({
      key: 'quarantine/flood',
      title: 'More unusable deliveries come than are kept',
      detail: `${MAX_UNUSABLE_A_DAY} of ${day} are in quarantine; all others of that day are answered 400, counted, and not kept.`,
    });
    return false;
  }

  async function receive(body: Uint8Array): Promise<Answer> {
    const receivedAt = now().toISOString();
    const [partnerId] = deps.partnerIds();
    const parsed = parseOnce(body, { wirePrefix: deps.settings.wirePrefix, partnerId });
    if (parsed.kind === 'unusable') return reject(parsed, body, receivedAt);
    if (parsed.kind === 'unsupported') return refuse(parsed, body, receivedAt);
    if (parsed.kind === 'test') {
      await keep('test', parsed, body, receivedAt);
      // Also the second time: whoever presses the test button again wants to see what a test event does.
      return { statusCode: 200, status: 'ignored', eventId: parsed.eventId };
    }
    if (isForeign(parsed.event, deps.partnerIds())) return refuse(foreign(parsed.event), body, receivedAt);
    tellSkew(parsed.event, receivedAt);
    if (parsed.unread.length > 0) {
      const { eventId } = parsed.event;
      log.warn({ eventId, unread: parsed.unread }, 'an event lacks fields; the service is asked for them');
    }
    if (parsed.contradictory.length > 0) tellContradictions(parsed);
    const kept = await keep('event', parsed.event, body, receivedAt, parsed.event.invoice.invoiceId);
    return { statusCode: 200, status: kept, eventId: parsed.event.eventId };
  }

  /** Nothing is refused for its stamp: an unsigned clock proves nothing, and a lost event would be lost (faults: clock skew). */
  function tellSkew({ eventId, eventTimestamp }: InvoiceEvent, receivedAt: string): void {
    const aheadMs = Date.parse(eventTimestamp) - Date.parse(receivedAt);
    if (!(aheadMs > SKEW_WORTH_TELLING_MS)) return;
    const aheadSeconds = Math.round(aheadMs / 1_000);
    log.warn(
      { eventId, aheadSeconds },
      'an event is from the future: our clock or the one of the service is wrong',
    );
  }

  /** The sender is broken: one of the two values is wrong, and the next such error may not show. */
  function tellContradictions({ event, contradictory }: Extract<ParsedDelivery, { kind: 'event' }>): void {
    deps.alerts?.raise({
      key: 'delivery-contradicts-itself',
      title: 'A delivery has two different values for one field.',
      detail: `Event ${event.eventId} of invoice ${event.invoice.invoiceId} has two values for ${contradictory.slice(0, 5).join(', ')}. It was kept and neither value is used; the service is asked. Tell the service; billsync events show ${event.eventId} has all values.`,
    });
  }

  async function keep(
    kind: DeliveryKind,
    { eventId }: { readonly eventId: string },
    body: Uint8Array,
    receivedAt: string,
    invoiceId: string | null = null,
    code: string | null = null,
  ): Promise<'accepted' | 'duplicate'> {
    const kept = await inbox.accept({ kind, eventId, receivedAt, invoiceId, code }, body);
    if (kept === 'duplicate') note(() => archive.putFact({ kind: 'duplicate', at: receivedAt, eventId }));
    return kept;
  }

  async function refuse(
    { eventId, invoiceId, code, message }: Refused,
    body: Uint8Array,
    receivedAt: string,
  ): Promise<Answer> {
    if ((await inbox.has({ kind: 'refused', eventId })) === 'no') {
      await quarantineBody({ code, reason: message, eventId, invoiceId, at: receivedAt }, body);
    }
    const kept = await keep('refused', { eventId }, body, receivedAt, invoiceId, code);
    if (kept === 'duplicate') return { statusCode: 200, status: 'duplicate', eventId };
    tellRefusal(deps.alerts, { code, message, eventId, invoiceId });
    // An invoice of somebody else must not stand in our list.
    if (code !== 'foreign-partner') noteOnInvoice(invoiceId, message, receivedAt);
    return { statusCode: 202, status: 'quarantined', eventId };
  }

  /** The sender did something wrong; the bytes are kept so that somebody can see what. */
  async function reject(
    parsed: Extract<ParsedDelivery, { kind: 'unusable' }>,
    body: Uint8Array,
    receivedAt: string,
  ): Promise<Answer> {
    const { code, message, eventId, invoiceId, envelope } = parsed;
    if (!mayKeepUnusable(receivedAt)) {
      deps.metrics.counter('quarantined_total').inc({ code });
      log.warn({ code, eventId, reason: message }, 'an unusable delivery was refused and not kept');
      return { statusCode: 400, status: 'rejected', eventId: null };
    }
    const isCut = body.byteLength > MAX_UNUSABLE_BYTES;
    const cut = `${message} Only the first ${MAX_UNUSABLE_BYTES} of its ${body.byteLength} bytes are kept.`;
    const kept = body.subarray(0, MAX_UNUSABLE_BYTES);
    await quarantineBody({ code, reason: isCut ? cut : message, eventId, invoiceId, at: receivedAt }, kept);
    tellRefusal(deps.alerts, { code, message, eventId, invoiceId });
    noteOnInvoice(invoiceId, message, receivedAt);
    if (eventId !== null && envelope !== null && !isCut) {
      note(async () => {
        await archive.putEvent({
          eventId,
          receivedAt,
          verdict: 'quarantined',
          reason: code,
          event: null,
          envelope,
        });
      });
    }
    return { statusCode: 400, status: 'rejected', eventId: null };
  }

  async function quarantineBody(
    what: { code: string; reason: string; eventId: string | null; invoiceId: string | null; at: string },
    body: Uint8Array,
  ): Promise<void> {
    await quarantine.put({ ...what, kind: 'delivery', sha256: null, findings: [], findingCount: 0 }, body);
    deps.metrics.counter('quarantined_total').inc({ code: what.code });
    log.warn({ code: what.code, eventId: what.eventId, reason: what.reason }, 'a delivery was quarantined');
  }

  /** The list of invoices shows it, and the reconciliation asks the service, as for all that needs attention. */
  function noteOnInvoice(invoiceId: string | null, message: string, at: string): void {
    if (invoiceId === null) return;
    const reason = `A delivery about this invoice was refused: ${message} See billsync quarantine list.`;
    note(() => archive.putFact({ kind: 'attention', at, invoiceId, code: 'delivery-refused', reason }));
  }

  function note(write: () => Promise<void>): void {
    if (notes.size >= MOST_NOTES) return;
    const writing = write()
      .catch((error: unknown) => log.warn({ err: error }, 'a note about a delivery could not be archived'))
      .finally(() => notes.delete(writing));
    notes.add(writing);
  }

  return {
    receive,
    async settle() {
      await Promise.all(notes);
    },
  };
}

interface Refused {
  readonly eventId: string;
  readonly invoiceId: string | null;
  readonly code: string;
  readonly message: string;
}

/** Every refusal is told, by its kind; the same kind once per quiet window. */
export function tellRefusal(
  alerts: Alerts | undefined,
  { code, message, eventId, invoiceId }: Omit<Refused, 'eventId'> & { readonly eventId: string | null },
): void {
  const about = [
    ...(eventId === null ? [] : [`Event ${eventId}.`]),
    ...(invoiceId === null ? [] : [`Invoice ${invoiceId}.`]),
  ].join(' ');
  alerts?.raise({
    key: `quarantine/${code}`,
    title: `A delivery was refused: ${code}.`,
    detail: `${message} ${about} See billsync quarantine list; after a fix, billsync quarantine requeue.`,
  });
}

function foreign(event: InvoiceEvent): Refused {
  return {
    eventId: event.eventId,
    invoiceId: event.invoice.invoiceId,
    code: 'foreign-partner',
    message: `The delivery is for partner ${event.partnerId}, which is not ours (BILLSYNC_PARTNER_ID).`,
  };
}
