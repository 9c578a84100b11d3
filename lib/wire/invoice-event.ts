/** The fields of an invoice in a webhook delivery, and their readers; those of the invoice are the same in its details. */

import { withoutQuery } from '../text.ts';
import { Contradiction } from './json.ts';
import {
  readCount,
  readCurrency,
  readDayOrInstant,
  readDecimal,
  readText,
  withoutUndefined,
} from './lenient-values.ts';
import type { EventType, WebhookStatus } from './names.ts';

/** The header of an invoice in every event (spec 2.6). Dates are ISO 8601 text as received. */
export interface InvoiceHeader {
  readonly invoiceId: string;
  readonly partnerInvoiceId: string | null;
  /** The tenant that is billed; null for partner-level invoices, which sum all tenants (spec 2.9). */
  readonly tenantId: string | null;
  readonly partnerTenantId: string | null;
  readonly invoiceNumber: string;
  readonly invoiceStatus: WebhookStatus;
  readonly invoiceStartDate: string;
  readonly invoiceEndDate: string;
  readonly invoiceDate: string;
  readonly invoiceDueDate: string;
  readonly currencyCode: string;
  /** Decimal text in `currencyCode`, digits exactly as the service wrote them, never exponent form. */
  readonly invoiceTotalAmount: string;
  readonly totalTransactionCount: number;
}

export interface ExportLocation {
  readonly presignedUrl: string;
  readonly presignedUrlExpiresAt: string;
  readonly fileHashSha256: string;
  readonly fileSizeBytes: number;
}

/** The header as far as it could be read, which always has the invoice's id (ADR 7). A field that the event leaves out is missing. */
export type EventHeader = Pick<InvoiceHeader, 'invoiceId'> &
  Partial<InvoiceHeader> & {
    /** The event names a tenant whose id could not be read, so that its silence makes no partner-level invoice. */
    readonly isTenantUnread?: boolean;
  };

/** One webhook delivery that can be acted on (spec 2.4 to 2.7). */
export interface InvoiceEvent {
  /** The service's event id, or one made from the delivery's bytes when it has none (ADR 7). */
  readonly eventId: string;
  /** The sender's instant in ISO 8601; empty when it could not be read. */
  readonly eventTimestamp: string;
  readonly eventType: EventType;
  /** The partner is empty when neither the delivery names one nor ours is known. */
  readonly partnerId: string;
  /** The delivery names no partner, and the first of several that are ours was taken. */
  readonly isPartnerAssumed?: boolean;
  readonly isTestEvent: boolean;
  readonly invoice: EventHeader;
  /** The export is null unless the event is invoice_finalized and complete. */
  readonly export: ExportLocation | null;
}

export function readHeaderFields(object: Readonly<Record<string, unknown>>): Partial<InvoiceHeader> {
  return withoutUndefined({
    invoiceNumber: readText(object.invoiceNumber),
    invoiceStartDate: readDayOrInstant(object.invoiceStartDate),
    invoiceEndDate: readDayOrInstant(object.invoiceEndDate),
    invoiceDate: readDayOrInstant(object.invoiceDate),
    invoiceDueDate: readDayOrInstant(object.invoiceDueDate),
    currencyCode: readCurrency(object.currencyCode),
    invoiceTotalAmount: readDecimal(object.invoiceTotalAmount),
    totalTransactionCount: readCount(object.totalTransactionCount),
  });
}

export type IdReading =
  | { readonly ok: true; readonly ids: { readonly invoiceId: unknown; readonly tenantId: unknown } }
  /** Spellings of the invoice's id that contradict each other: which invoice it is must not be guessed. */
  | { readonly ok: false; readonly problem: string };

const NEUTRAL = 'service';
/** `partnerInvoiceId` and `partnerTenantId` are the partner's own references, another pair of fields altogether. */
const PARTNER = 'partner';
const RELATED =
  /^(parent|child|root|original|previous|prior|next|related|linked|source|target|master|sub|credit|credited|corrected|correction|replaced|replacement|superseded|external|internal|merged|split)$/i;
const PREFIXED = /^([A-Za-z][A-Za-z0-9]*)(InvoiceId|TenantId)$/;

/**
 * With `auto` any prefix is the maker's. Of several, the one that spells both fields is: an added field such as
 * `originalInvoiceId` comes alone.
 */
export function readIds(payload: Readonly<Record<string, unknown>>, wirePrefix: string): IdReading {
  const prefixes = wirePrefix === 'auto' ? makersOf(payload) : [wirePrefix];
  const spellings = [...new Set([NEUTRAL, ...prefixes])];
  const invoiceIds = stated(payload, spellings, 'InvoiceId');
  const tenantIds = stated(payload, spellings, 'TenantId');
  if (disagree(invoiceIds)) {
    const keys = invoiceIds.map(({ key }) => key).join(' and ');
    return {
      ok: false,
      problem: `${keys} contradict each other; set BILLSYNC_WIRE_PREFIX to the one that counts`,
    };
  }
  const tenantId = disagree(tenantIds)
    ? new Contradiction(tenantIds.map(({ value }) => value))
    : tenantIds[0]?.value;
  return { ok: true, ids: { invoiceId: invoiceIds[0]?.value, tenantId } };
}

function makersOf(payload: Readonly<Record<string, unknown>>): readonly string[] {
  const fieldsOf = new Map<string, number>();
  for (const key of Object.keys(payload)) {
    const prefix = PREFIXED.exec(key)?.[1];
    if (prefix === undefined || prefix === NEUTRAL || prefix === PARTNER || RELATED.test(prefix)) continue;
    fieldsOf.set(prefix, (fieldsOf.get(prefix) ?? 0) + 1);
  }
  const makers = [...fieldsOf.keys()];
  const complete = makers.filter((prefix) => fieldsOf.get(prefix) === 2);
  const likely = complete.length > 0 ? complete : makers.filter((prefix) => `${prefix}InvoiceId` in payload);
  // An added pair that is null names no invoice; the maker's does.
  const nonNull = likely.filter((prefix) => (payload[`${prefix}InvoiceId`] ?? null) !== null);
  return nonNull.length > 0 ? nonNull : likely;
}

interface Spelling {
  readonly key: string;
  readonly value: unknown;
}

function stated(
  payload: Readonly<Record<string, unknown>>,
  prefixes: readonly string[],
  field: string,
): readonly Spelling[] {
  return prefixes
    .map((prefix) => `${prefix}${field}`)
    .filter((key) => Object.hasOwn(payload, key))
    .map((key) => ({ key, value: payload[key] }));
}

function disagree(spellings: readonly Spelling[]): boolean {
  return spellings.some(({ value }) => value !== spellings[0]?.value);
}

export function withoutUrlQuery(event: InvoiceEvent): InvoiceEvent {
  if (event.export === null) return event;
  return {
    ...event,
    export: { ...event.export, presignedUrl: withoutQuery(event.export.presignedUrl) },
  };
}
