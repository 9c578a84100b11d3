/** Reads the invoice details answer, whose shape the specification does not show (spec 4.4). */

import { isLosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { jsonOf, MalformedAnswerError } from './answer-json.js';
import { plainDecimal } from './decimal.js';
import type { InvoiceHeader } from './invoice-event.js';
import { readIds } from './maker-prefix.js';
import type { WebhookStatus } from './names.js';
import { readStatus } from './status-words.js';
import { Count, CurrencyCode, DayOrInstant, Id, isJsonObject } from './wire.js';

/** Shape as `InvoiceDetails` of the billing port: whatever was recognised (spec 4.4 shows no shape). */
export interface DetailsAnswer {
  readonly status: WebhookStatus | null;
  readonly header: Partial<InvoiceHeader>;
}

/**
 * Reads details leniently: the invoice may be wrapped in any object, its status be called `status` or
 * `invoiceStatus`, in either vocabulary; fields of an unexpected type are left out.
 *
 * @throws MalformedAnswerError not JSON, no invoice in it, or another invoice's
 */
export function parseDetails(
  body: Uint8Array,
  options: { readonly invoiceId: string; readonly wirePrefix: string },
): DetailsAnswer {
  const json = jsonOf(body, 'details answer');
  const invoice = findInvoice(json, options.wirePrefix);
  if (invoice === null) throw new MalformedAnswerError('The details answer holds no invoice.');
  const header = recognisedHeader(invoice, options.wirePrefix);
  if (header.invoiceId !== undefined && !sameId(header.invoiceId, options.invoiceId)) {
    throw new MalformedAnswerError(
      `The details answer is about ${header.invoiceId}, not ${options.invoiceId}.`,
    );
  }
  return { status: header.invoiceStatus ?? null, header };
}

const ID_KEYS = ['invoiceId', 'id'] as const;

/** Breadth first, so that an invoice's own fields win over those of what it contains. */
function findInvoice(json: unknown, wirePrefix: string): Readonly<Record<string, unknown>> | null {
  let level: readonly unknown[] = [json];
  let byStatus: Readonly<Record<string, unknown>> | null = null;
  for (let depth = 0; depth < 5 && level.length > 0; depth++) {
    const objects = level.filter(isJsonObject);
    const byId = objects.find((object) => invoiceIdOf(object, wirePrefix) !== undefined);
    if (byId !== undefined) return byId;
    byStatus ??= objects.find((object) => statusOf(object) !== null) ?? null;
    // A list of one is a wrapper; a longer list is line items.
    level = objects.flatMap((object) =>
      Object.values(object).flatMap((value) =>
        Array.isArray(value) && value.length === 1 ? value : [value],
      ),
    );
  }
  return byStatus;
}

function invoiceIdOf(object: Readonly<Record<string, unknown>>, wirePrefix: string): string | undefined {
  const reading = readIds(object, wirePrefix);
  const spelled = reading.ok ? reading.ids.invoiceId : undefined;
  const candidates = [spelled, ...ID_KEYS.map((key) => object[key])];
  // A bare `id` may be anything's: it counts only beside a status.
  const isInvoice = spelled !== undefined || object.invoiceId !== undefined || statusOf(object) !== null;
  return isInvoice ? candidates.find((id): id is string => Id.safeParse(id).success) : undefined;
}

function statusOf(object: Readonly<Record<string, unknown>>): WebhookStatus | null {
  return readStatus(object.invoiceStatus) ?? readStatus(object.status);
}

const Amount = z.unknown().transform((value, context) => {
  try {
    return plainDecimal(isLosslessNumber(value) ? value.value : typeof value === 'string' ? value : '');
  } catch {
    context.addIssue('expected a number');
    return z.NEVER;
  }
});

const RECOGNISED = {
  partnerInvoiceId: z.string().nullable(),
  partnerTenantId: z.string().nullable(),
  invoiceNumber: z.string().min(1),
  invoiceStartDate: DayOrInstant,
  invoiceEndDate: DayOrInstant,
  invoiceDate: DayOrInstant,
  invoiceDueDate: DayOrInstant,
  currencyCode: CurrencyCode,
  invoiceTotalAmount: Amount,
  totalTransactionCount: Count,
} satisfies { readonly [Field in keyof InvoiceHeader]?: z.ZodType<InvoiceHeader[Field]> };

function recognisedHeader(
  object: Readonly<Record<string, unknown>>,
  wirePrefix: string,
): Partial<InvoiceHeader> {
  const header: Record<string, unknown> = {};
  for (const [field, schema] of Object.entries(RECOGNISED)) {
    const reading = schema.safeParse(object[field]);
    if (reading.success) header[field] = reading.data;
  }
  const ids = readIds(object, wirePrefix);
  const tenantId = Id.nullable().safeParse(ids.ok ? ids.ids.tenantId : undefined);
  if (tenantId.success) header.tenantId = tenantId.data;
  const invoiceId = invoiceIdOf(object, wirePrefix);
  if (invoiceId !== undefined) header.invoiceId = invoiceId;
  const status = statusOf(object);
  if (status !== null) header.invoiceStatus = status;
  return header;
}

function sameId(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}
