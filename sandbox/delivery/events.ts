import { invoiceFields } from '../choices.ts';
import { type Faults, type Moment, numberParam } from '../faults/faults.ts';
import type { BillingEvent, EventType, Invoice, Partner, StatedTotals } from '../model.ts';
import { type ExactNumber, moneyText, parseMoney } from '../money.ts';

/** The presigned URL of a file and when it expires (spec 2.7, 4.3). */
export interface FileLocation {
  readonly presignedUrl: string;
  readonly presignedUrlExpiresAt: string;
  readonly fileHashSha256: string;
  readonly fileSizeBytes: number;
}

export interface EventParts {
  readonly eventId: string;
  readonly eventType: EventType;
  readonly at: Date;
  readonly partner: Partner;
  readonly invoice: Invoice;
  readonly partnerTenantId: string | null;
  readonly wirePrefix: string;
  /** Where the file is; null for types of events that bring no file. */
  readonly location: FileLocation | null;
  readonly testEvent: boolean;
  /** Milliseconds that a fault adds to the event's timestamp. */
  readonly skewMs: number;
}

const REPEATED_EVENT_ID = 'eeeeeeee-0000-4000-8000-000000000000';

/** @param faults null: an event without faults */
export function buildEvent(parts: EventParts, faults: Faults | null, moment: Moment): BillingEvent {
  const { eventId, invoice, testEvent } = parts;
  const isV2 = (faults?.strike('schema-v2', moment) ?? null) !== null;
  const eventTimestamp = new Date(parts.at.getTime() + parts.skewMs).toISOString();
  const fields = invoiceFields(parts);
  const isRepeated = (faults?.strike('repeated-event-id', moment) ?? null) !== null;
  const metadata = {
    eventId: isRepeated ? REPEATED_EVENT_ID : eventId,
    eventTimestamp,
    eventType: parts.eventType,
    partnerId: parts.partner.partnerId,
    payloadSchemaVersion: isV2 ? 'v2' : 'v1',
    testEvent,
  };
  const payload = { ...(isV2 ? asSchemaV2(fields) : fields), ...parts.location };
  return {
    eventId,
    eventType: parts.eventType,
    eventTimestamp,
    invoiceId: invoice.invoiceId,
    tenantId: invoice.tenantId,
    testEvent,
    body: JSON.stringify({ metadata, payload }),
  };
}

/** An event that a later version of the service could send (spec 9). */
export function ofUnknownType(event: BillingEvent, eventId: string, eventType: string): BillingEvent {
  const body = event.body
    .replace(JSON.stringify(event.eventId), JSON.stringify(eventId))
    .replace(`"eventType":${JSON.stringify(event.eventType)}`, `"eventType":${JSON.stringify(eventType)}`);
  return { ...event, eventId, eventType, body };
}

/** Returns null when no fault strikes. */
export function strikeTotals(faults: Faults, moment: Moment, invoice: Invoice): StatedTotals | null {
  const totals = faults.strike('wrong-totals', moment);
  const currency = faults.strike('other-currency', moment);
  if (totals === null && currency === null) return null;
  const amountBy = totals === null ? 0n : parseMoney(String(totals.params.amountBy));
  return {
    totalAmount: moneyText(parseMoney(invoice.totalAmount) + amountBy),
    transactionCount: invoice.shipmentCount + (totals === null ? 0 : numberParam(totals, 'countBy')),
    currencyCode: currency === null ? invoice.currencyCode : String(currency.params.currencyCode),
  };
}

function asSchemaV2(fields: object): object {
  const { invoiceTotalAmount, currencyCode, ...rest } = fields as Record<string, unknown>;
  const amount = (invoiceTotalAmount as ExactNumber).rawJSON;
  return { ...rest, invoiceTotal: { amount, currencyCode } };
}
