/** The answers of the billing service's endpoints as values (spec 2.1, 2.2, 4.3, 4.4, 7). */

import { isLosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { plainDecimal } from './decimal.js';
import type { ExportLocation, InvoiceHeader } from './invoice-event.js';
import { readIds } from './maker-prefix.js';
import type { WebhookStatus } from './names.js';
import { ExportAnnouncement } from './parse-delivery.js';
import { printable } from './printable.js';
import { readStatus } from './status-words.js';
import { withoutUrlQueries } from './url-query.js';
import {
  Count,
  CurrencyCode,
  DayOrInstant,
  describeIssues,
  Id,
  isJsonObject,
  NotJsonError,
  parseJson,
} from './wire.js';

/** An answer that is not what the specification promises; the message names fields, never values. */
export class MalformedAnswerError extends Error {
  override readonly name = 'MalformedAnswerError';
}

/** Spec 2.1. The token is used verbatim, with every trailing `=`. */
export interface AccessToken {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  /** `partnerId` first, then what `partnerIds` adds; empty when the service names none. */
  readonly partnerIds: readonly string[];
}

/** Shape as `InvoiceDetails` of the billing port: whatever was recognised (spec 4.4 shows no shape). */
export interface DetailsAnswer {
  readonly status: WebhookStatus | null;
  readonly header: Partial<InvoiceHeader>;
}

/** What an error body says, fit for a log: no URL queries, at most 200 characters each. */
export interface ErrorBody {
  /** `error` (OAuth's and the API's `invalid_token`), storage's `<Code>`; null when the body names none. */
  readonly code: string | null;
  readonly description: string | null;
}

/** @throws MalformedAnswerError */
export function parseToken(body: Uint8Array): AccessToken {
  const token = checked(TokenAnswer, body, 'token answer');
  const ids = [token.partnerId ?? '', ...partnerIdsOf(token.partnerIds)];
  return {
    accessToken: token.access_token,
    expiresInSeconds: token.expires_in,
    partnerIds: [...new Set(ids.filter((id) => id !== ''))],
  };
}

/** @throws MalformedAnswerError unless status is 1 and info is pong (spec 2.2) */
export function parsePing(body: Uint8Array): void {
  checked(PingAnswer, body, 'ping answer');
}

/** @throws MalformedAnswerError */
export function parseExportLocation(body: Uint8Array): ExportLocation {
  return checked(ExportAnnouncement, body, 'regenerate answer');
}

/**
 * Reads details leniently: the invoice may be wrapped in any object, its status be called `status` or
 * `invoiceStatus`, in either vocabulary; fields of an unexpected type are left out (decision 15).
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

/** Never throws: an error body may be JSON, storage's XML, a proxy's HTML, or nothing. */
export function parseErrorBody(body: Uint8Array): ErrorBody {
  const text = new TextDecoder().decode(body);
  const fields = errorFields(text);
  return { code: legible(fields.code), description: legible(fields.description) };
}

const WholeSeconds = z.union(
  [
    Count,
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ],
  'expected whole seconds',
);

const TokenAnswer = z.object({
  access_token: z.string().min(1),
  token_type: z
    .string()
    .regex(/^bearer$/i, 'expected bearer')
    .optional(),
  expires_in: WholeSeconds,
  partnerId: z.string().nullish(),
  partnerIds: z.union([z.string(), z.array(z.string())]).nullish(),
});

const PingAnswer = z.object({
  status: Count.refine((status) => status === 1, 'expected 1'),
  info: z.literal('pong'),
});

/** The string is not described further (spec 2.1): one id, several with commas or blanks, or JSON text. */
function partnerIdsOf(value: string | readonly string[] | null | undefined): readonly string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'string') return value;
  return value.split(/[\s,;"'[\]]+/).filter((id) => id !== '');
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

function errorFields(text: string): { readonly code: unknown; readonly description: unknown } {
  try {
    const json = parseJson(text);
    const body = isJsonObject(json) ? json : {};
    const inner = isJsonObject(body.error) ? body.error : body;
    const code = typeof inner.error === 'string' ? inner.error : inner.code;
    return { code, description: inner.error_description ?? inner.message ?? inner.detail ?? inner.title };
  } catch {
    const tag = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
    return { code: tag('Code'), description: tag('Message') };
  }
}

function legible(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? printable(withoutUrlQueries(value)) : null;
}

function sameId(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

function jsonOf(body: Uint8Array, what: string): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    throw new MalformedAnswerError(`The ${what} is not JSON.`, { cause: error });
  }
}

function checked<Schema extends z.ZodType>(schema: Schema, body: Uint8Array, what: string): z.output<Schema> {
  const json = jsonOf(body, what);
  const reading = schema.safeParse(json);
  if (reading.success) return reading.data;
  throw new MalformedAnswerError(
    `The ${what} is not as specified: ${describeIssues(reading.error, '', json)}`,
  );
}
