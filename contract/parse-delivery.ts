/** Turns the bytes of a webhook delivery into an event or into the reason why it is none; nothing behind it checks again. */

import { stringify } from 'lossless-json';
import { z } from 'zod';
import type { ExportLocation, InvoiceEvent, InvoiceHeader } from './invoice-event.js';
import { readIds } from './maker-prefix.js';
import { EVENT_TYPES, type EventType, PAYLOAD_SCHEMA_VERSION, type WebhookStatus } from './names.js';
import { printable } from './printable.js';
import { readStatus } from './status-words.js';
import { withoutUrlQueriesInside } from './url-query.js';
import {
  Count,
  CurrencyCode,
  DayOrInstant,
  DecimalText,
  describeIssues,
  Id,
  Instant,
  isJsonObject,
  NotJsonError,
  OptionalText,
  parseJson,
  Sha256,
  UrlText,
} from './wire.js';

export { withoutUrlQuery } from './url-query.js';

/** Something an event says twice, differently. It does not stop the event: the event type decides (spec 3). */
export interface StatedDiscrepancy {
  readonly rule: 'status-contradicts-type';
  readonly stated: string;
  readonly found: string;
}

/** `envelope` is JSON text: digits exact, unknown fields kept, no URL with its query. */
export type ParsedDelivery =
  | {
      readonly kind: 'event';
      readonly event: InvoiceEvent;
      readonly envelope: string;
      readonly discrepancies: readonly StatedDiscrepancy[];
    }
  /** Must not be processed as real data (spec 6, rule 4); `event` is null when its payload is none. */
  | {
      readonly kind: 'test';
      readonly eventId: string;
      readonly event: InvoiceEvent | null;
      readonly envelope: string;
    }
  /** Well formed, and of a kind that this version does not know. */
  | {
      readonly kind: 'unsupported';
      readonly code: 'unknown-event-type' | 'unknown-schema-version';
      readonly message: string;
      readonly eventId: string;
      readonly envelope: string;
    }
  | {
      readonly kind: 'unusable';
      readonly code: 'not-json' | 'invalid-metadata' | 'invalid-payload';
      readonly message: string;
      readonly eventId: string | null;
      readonly envelope: string | null;
    };

export interface ParseDeliveryOptions {
  /** Maker's prefix of the id fields; `auto` takes any (BILLSYNC_WIRE_PREFIX). */
  readonly wirePrefix: string;
}

/** Never throws: whatever arrives has a place among the four kinds. */
export function parseDelivery(body: Uint8Array, options: ParseDeliveryOptions): ParsedDelivery {
  let json: unknown;
  try {
    json = parseJson(body);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    return unusable('not-json', error.message, null, null);
  }
  const envelope = stringify(withoutUrlQueriesInside(json)) ?? 'null';
  const metadata = isJsonObject(json) ? json.metadata : undefined;
  const routing = Routing.safeParse(metadata);
  if (!isJsonObject(json) || !routing.success) {
    const problem = routing.success ? 'not an object' : describeIssues(routing.error, 'metadata', metadata);
    return unusable('invalid-metadata', problem, readableEventId(metadata), envelope);
  }
  const { eventId, testEvent, payloadSchemaVersion } = routing.data;
  // Before anything is judged: a test event may carry any payload and is never real (spec 6, rule 4).
  if (testEvent) {
    const reading = readEvent(metadata, json.payload, options);
    return { kind: 'test', eventId, event: reading.ok ? reading.event : null, envelope };
  }
  if (payloadSchemaVersion !== PAYLOAD_SCHEMA_VERSION) {
    const message = `payloadSchemaVersion ${printable(payloadSchemaVersion, 40)} is unknown, ${PAYLOAD_SCHEMA_VERSION} is known.`;
    return { kind: 'unsupported', code: 'unknown-schema-version', message, eventId, envelope };
  }
  if (routing.data.eventType !== undefined && !isEventType(routing.data.eventType)) {
    const message = `eventType ${printable(routing.data.eventType, 60)} is unknown, ${EVENT_TYPES.join(', ')} are known.`;
    return { kind: 'unsupported', code: 'unknown-event-type', message, eventId, envelope };
  }
  const reading = readEvent(metadata, json.payload, options);
  if (!reading.ok) return unusable(reading.code, reading.message, eventId, envelope);
  return { kind: 'event', event: reading.event, envelope, discrepancies: discrepanciesOf(reading.event) };
}

/** What must be readable before anything else is worth reading. */
const Routing = z.object({
  eventId: Id,
  eventType: z.string().optional(),
  payloadSchemaVersion: z.string(),
  testEvent: z.boolean(),
});

const Metadata = z.object({
  eventId: Id,
  eventTimestamp: Instant,
  eventType: z.enum(EVENT_TYPES),
  partnerId: Id,
  testEvent: z.boolean(),
});

const Status = z.string().transform((word, context): WebhookStatus => {
  const status = readStatus(word);
  if (status !== null) return status;
  context.addIssue('expected draft, pending, finalized or voided');
  return z.NEVER;
});

/** Spec 2.6, the two id fields already under their neutral names. */
const Header = z.object({
  invoiceId: Id,
  partnerInvoiceId: OptionalText,
  tenantId: Id.nullish().transform((id) => id ?? null),
  partnerTenantId: OptionalText,
  invoiceNumber: z.string().min(1),
  invoiceStatus: Status,
  invoiceStartDate: DayOrInstant,
  invoiceEndDate: DayOrInstant,
  invoiceDate: DayOrInstant,
  invoiceDueDate: DayOrInstant,
  currencyCode: CurrencyCode,
  invoiceTotalAmount: DecimalText,
  totalTransactionCount: Count,
}) satisfies z.ZodType<InvoiceHeader>;

/** Spec 2.7, and the answer of the regenerate endpoint (spec 4.3). */
export const ExportAnnouncement = z.object({
  presignedUrl: UrlText,
  presignedUrlExpiresAt: Instant,
  fileHashSha256: Sha256,
  fileSizeBytes: Count,
}) satisfies z.ZodType<ExportLocation>;

type EventReading =
  | { readonly ok: true; readonly event: InvoiceEvent }
  | {
      readonly ok: false;
      readonly code: 'invalid-metadata' | 'invalid-payload';
      readonly message: string;
    };

function readEvent(metadata: unknown, payload: unknown, options: ParseDeliveryOptions): EventReading {
  const about = Metadata.safeParse(metadata);
  if (!about.success) {
    return {
      ok: false,
      code: 'invalid-metadata',
      message: describeIssues(about.error, 'metadata', metadata),
    };
  }
  const refuse = (message: string): EventReading => ({ ok: false, code: 'invalid-payload', message });
  if (!isJsonObject(payload)) return refuse('payload: not an object');
  const ids = readIds(payload, options.wirePrefix);
  if (!ids.ok) return refuse(`payload: ${ids.problem}`);
  const neutral = { ...payload, ...ids.ids };
  const header = Header.safeParse(neutral);
  if (!header.success) return refuse(describeIssues(header.error, 'payload', neutral));
  const location =
    about.data.eventType === 'invoice_finalized' ? ExportAnnouncement.safeParse(payload) : null;
  if (location?.success === false) return refuse(describeIssues(location.error, 'payload', payload));
  const { testEvent, ...rest } = about.data;
  return {
    ok: true,
    event: { ...rest, isTestEvent: testEvent, invoice: header.data, export: location?.data ?? null },
  };
}

/** The status that goes with each event type (spec 3). */
const STATUS_OF: Readonly<Record<EventType, WebhookStatus>> = {
  invoice_created: 'draft',
  invoice_finalized: 'finalized',
  invoice_voided: 'voided',
};

function discrepanciesOf(event: InvoiceEvent): readonly StatedDiscrepancy[] {
  const expected = STATUS_OF[event.eventType];
  const { invoiceStatus } = event.invoice;
  if (invoiceStatus === expected) return [];
  return [{ rule: 'status-contradicts-type', stated: invoiceStatus, found: expected }];
}

function isEventType(word: string): word is EventType {
  return EVENT_TYPES.some((type) => type === word);
}

/** A quarantined delivery is easier to find by its id, even when the rest of its metadata is broken. */
function readableEventId(metadata: unknown): string | null {
  const id = isJsonObject(metadata) ? Id.safeParse(metadata.eventId) : undefined;
  return id?.success === true ? id.data : null;
}

function unusable(
  code: 'not-json' | 'invalid-metadata' | 'invalid-payload',
  message: string,
  eventId: string | null,
  envelope: string | null,
): ParsedDelivery {
  return { kind: 'unusable', code, message, eventId, envelope };
}
