/**
 * An event is kept whenever its type and its invoice can be read (ADR 7); the rest is requested from the service.
 * Nothing behind this file checks again.
 */

import { stringify } from 'lossless-json';
import { beginningOf, printable, withoutUrlQueriesInside } from '../text.ts';
import {
  type EventHeader,
  type ExportLocation,
  type InvoiceEvent,
  readHeaderFields,
  readIds,
} from './invoice-event.ts';
import {
  Contradiction,
  contradictionsIn,
  isJsonObject,
  type JsonObject,
  NotJsonError,
  objectLevels,
  parseJson,
  unwrapSingle,
} from './json.ts';
import {
  idMadeFrom,
  readBoolean,
  readCount,
  readEventId,
  readId,
  readInstant,
  readSha256,
  readStatus,
  readText,
  readUrl,
  withoutUndefined,
} from './lenient-values.ts';
import { EVENT_TYPES, EVENTS, type EventType, PAYLOAD_SCHEMA_VERSION } from './names.ts';

/** `envelope` is JSON text with exact digits and unknown fields, and with no query in any URL. */
export type ParsedDelivery =
  | {
      readonly kind: 'event';
      readonly event: InvoiceEvent;
      readonly envelope: string;
      /** Fields that are required (spec 2.5 to 2.7) and could not be read, such as `payload.invoiceDueDate`. */
      readonly unread: readonly string[];
      /** Fields with two spellings that contradict each other and are read as neither, such as `payload.invoiceTotalAmount`. */
      readonly contradictory: readonly string[];
    }
  | {
      readonly kind: 'test';
      readonly eventId: string;
      readonly event: InvoiceEvent | null;
      readonly envelope: string;
    }
  /** The delivery is well formed, but of an event type or schema version that this version does not know. */
  | {
      readonly kind: 'unsupported';
      readonly code: 'unknown-event-type' | 'unknown-schema-version';
      readonly message: string;
      readonly eventId: string;
      readonly invoiceId: string | null;
      readonly envelope: string;
    }
  | {
      readonly kind: 'unusable';
      readonly code: 'not-json' | 'invalid-metadata' | 'invalid-payload';
      readonly message: string;
      readonly eventId: string | null;
      readonly invoiceId: string | null;
      readonly envelope: string | null;
    };

export interface ParseDeliveryOptions {
  readonly wirePrefix: string;
  /** Our own partners; a delivery that names none gets the first one. Left out while none is known. */
  readonly partnerIds?: readonly string[];
}

export function parseDelivery(body: Uint8Array, options: ParseDeliveryOptions): ParsedDelivery {
  let json: unknown;
  try {
    json = parseJson(body);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    const { message } = error;
    return { kind: 'unusable', code: 'not-json', message, eventId: null, invoiceId: null, envelope: null };
  }
  const envelope = stringify(withoutUrlQueriesInside(json)) ?? 'null';
  const found = findEnvelope(json);
  if (found === null) {
    const message = 'metadata: missing';
    return { kind: 'unusable', code: 'invalid-metadata', message, eventId: null, invoiceId: null, envelope };
  }
  const { metadata } = found;
  // A retry sends the same bytes, so an event without an id of its own still has one id.
  const statedId = readEventId(metadata.eventId);
  const eventId = statedId ?? idMadeFrom(body);
  const reading = readEvent(found, eventId, options);
  const { invoiceId } = reading;
  // A test event is recognized before anything is checked, because it may carry any payload and is never real (spec 6, rule 4).
  if (readBoolean(metadata.testEvent)) {
    return { kind: 'test', eventId, event: reading.event, envelope };
  }
  const twice = ['eventType', 'payloadSchemaVersion'].find((key) => metadata[key] instanceof Contradiction);
  if (twice !== undefined) {
    // The event is not guessed: it is listed, and the service is called.
    const code = twice === 'eventType' ? 'unknown-event-type' : 'unknown-schema-version';
    const message = `metadata.${twice} occurs twice, with different values.`;
    return { kind: 'unsupported', code, message, eventId, invoiceId, envelope };
  }
  const version = readText(metadata.payloadSchemaVersion) ?? PAYLOAD_SCHEMA_VERSION;
  if (!/^v?1(\.\d+)*$/i.test(version)) {
    const message = `payloadSchemaVersion ${printable(version, 40)} is unknown, ${PAYLOAD_SCHEMA_VERSION} is known.`;
    return { kind: 'unsupported', code: 'unknown-schema-version', message, eventId, invoiceId, envelope };
  }
  const type = readText(metadata.eventType);
  if (type !== undefined && typeOf(metadata, found.payload) === null) {
    const message = `eventType ${printable(type, 60)} is unknown, ${EVENT_TYPES.join(', ')} are known.`;
    return { kind: 'unsupported', code: 'unknown-event-type', message, eventId, invoiceId, envelope };
  }
  if (reading.event === null) {
    const { code, message } = reading;
    return { kind: 'unusable', code, message, eventId: statedId ?? null, invoiceId, envelope };
  }
  const { event, unread } = reading;
  return { kind: 'event', event, envelope, unread, contradictory: contradictionsIn(json) };
}

type EventReading =
  | { readonly event: InvoiceEvent; readonly invoiceId: string; readonly unread: readonly string[] }
  | {
      readonly event: null;
      readonly invoiceId: string | null;
      readonly code: 'invalid-metadata' | 'invalid-payload';
      readonly message: string;
    };

function readEvent(
  { metadata, payload }: Envelope,
  eventId: string,
  options: ParseDeliveryOptions,
): EventReading {
  const refuse = (
    code: 'invalid-metadata' | 'invalid-payload',
    message: string,
    invoiceId: string | null = null,
  ): EventReading => ({ event: null, invoiceId, code, message });
  if (payload === null) return refuse('invalid-payload', 'payload: not an object');
  const ids = readIds(payload, options.wirePrefix);
  if (!ids.ok) return refuse('invalid-payload', `payload: ${ids.problem}`);
  const invoiceId = readId(ids.ids.invoiceId);
  if (invoiceId === undefined) {
    return refuse('invalid-payload', `payload.invoiceId: ${whyNoId(ids.ids.invoiceId)}`);
  }
  const eventType = typeOf(metadata, payload);
  if (eventType === null) return refuse('invalid-metadata', 'metadata.eventType: missing', invoiceId);
  const header = headerOf(payload, invoiceId, ids.ids.tenantId);
  const { bringsFile } = EVENTS[eventType];
  const location = bringsFile ? exportOf(payload) : null;
  const { partnerIds: ours = [] } = options;
  const partnerId = readText(metadata.partnerId);
  const about = {
    eventTimestamp: readInstant(metadata.eventTimestamp),
    partnerId: partnerId && beginningOf(partnerId, MAX_PARTNER_ID),
  };
  const event: InvoiceEvent = {
    eventId,
    eventTimestamp: about.eventTimestamp ?? '',
    eventType,
    partnerId: about.partnerId ?? ours[0] ?? '',
    ...(about.partnerId === undefined && ours.length > 1 ? { isPartnerAssumed: true } : {}),
    isTestEvent: readBoolean(metadata.testEvent),
    invoice: header,
    export: location,
  };
  const unread = [
    ...(readEventId(metadata.eventId) === undefined ? ['metadata.eventId'] : []),
    ...Object.entries(about).flatMap(([field, value]) => (value === undefined ? [`metadata.${field}`] : [])),
    ...REQUIRED.filter((field) => header[field] === undefined).map((field) => `payload.${field}`),
    ...(bringsFile && location === null ? ['payload.presignedUrl and its fields'] : []),
  ];
  return { event, invoiceId, unread };
}

const MAX_PARTNER_ID = 128;

function whyNoId(value: unknown): string {
  if (value instanceof Contradiction) return 'occurs twice, with different values';
  return value === undefined || value === null ? 'missing' : 'expected a UUID';
}

/** Compares only letters: `invoice.voided` is `INVOICE_VOIDED`. Without a type, the status decides. */
function typeOf(metadata: JsonObject, payload: JsonObject | null): EventType | null {
  const type = readText(metadata.eventType);
  if (type !== undefined) {
    const letters = lettersOf(type);
    return EVENT_TYPES.find((known) => lettersOf(known) === letters) ?? null;
  }
  const status = readStatus(readText(payload?.invoiceStatus));
  return EVENT_TYPES.find((type) => EVENTS[type].status === status) ?? null;
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, '');
}

/** The header fields that spec 2.6 requires besides the id. */
const REQUIRED = [
  'invoiceNumber',
  'invoiceStatus',
  'invoiceStartDate',
  'invoiceEndDate',
  'invoiceDate',
  'invoiceDueDate',
  'currencyCode',
  'invoiceTotalAmount',
  'totalTransactionCount',
] as const satisfies readonly (keyof EventHeader)[];

function headerOf(payload: JsonObject, invoiceId: string, tenant: unknown): EventHeader {
  const tenantId = tenant === null ? null : readId(tenant);
  return {
    ...readHeaderFields(payload),
    ...withoutUndefined({
      invoiceStatus: readStatus(readText(payload.invoiceStatus)) ?? undefined,
      // null states a partner-level invoice (spec 2.9); a missing field states nothing.
      tenantId,
      isTenantUnread: (tenant !== undefined && tenantId === undefined) || undefined,
    }),
    invoiceId,
    partnerInvoiceId: readText(payload.partnerInvoiceId) ?? null,
    partnerTenantId: readText(payload.partnerTenantId) ?? null,
  };
}

/** Returns null unless all four fields can be read; then a new URL is requested (spec 4.3). */
function exportOf(payload: JsonObject): ExportLocation | null {
  const presignedUrl = readUrl(payload.presignedUrl);
  const presignedUrlExpiresAt = readInstant(payload.presignedUrlExpiresAt);
  const fileHashSha256 = readSha256(payload.fileHashSha256);
  const fileSizeBytes = readCount(payload.fileSizeBytes);
  if (presignedUrl === undefined || presignedUrlExpiresAt === undefined) return null;
  if (fileHashSha256 === undefined || fileSizeBytes === undefined) return null;
  return { presignedUrl, presignedUrlExpiresAt, fileHashSha256, fileSizeBytes };
}

interface Envelope {
  readonly metadata: JsonObject;
  readonly payload: JsonObject | null;
}

const MAX_DEPTH = 4;

/** A list of one is a wrapper; of a list of several events none is chosen. */
function findEnvelope(json: unknown): Envelope | null {
  let flat: JsonObject | null = null;
  for (const objects of objectLevels(json, MAX_DEPTH)) {
    const whole = objects.find((object) => isJsonObject(object.metadata));
    if (whole !== undefined) return envelopeOf(whole, whole.metadata as JsonObject);
    flat ??= objects.find((object) => 'eventType' in object || 'eventId' in object) ?? null;
  }
  return flat === null ? null : envelopeOf(flat, flat);
}

function envelopeOf(object: JsonObject, metadata: JsonObject): Envelope {
  const named = [object.payload, object.data, object.invoice].map(unwrapSingle).find(isJsonObject);
  const payload = named ?? (object === metadata ? object : null);
  if (payload === null) return { metadata, payload: null };
  const inner = [payload.invoice, payload.data].map(unwrapSingle).find(isJsonObject);
  return { metadata, payload: inner === undefined ? payload : { ...inner, ...payload } };
}
