/** Reads the invoice details answer, whose shape the specification does not show (spec 4.4). */

import { isLosslessNumber } from 'lossless-json';
import { printable } from '../text.ts';
import { type InvoiceHeader, readHeaderFields, readIds } from './invoice-event.ts';
import {
  Contradiction,
  isJsonObject,
  type JsonObject,
  MalformedAnswerError,
  NotJsonError,
  objectLevels,
} from './json.ts';
import { JsonSkeleton } from './json-skeleton.ts';
import { readId, readStatus, readText, withoutUndefined } from './lenient-values.ts';
import type { WebhookStatus } from './names.ts';

export interface InvoiceDetails {
  readonly status: WebhookStatus | null;
  readonly unknownStatus: string | null;
  readonly header: Partial<InvoiceHeader>;
}

export interface DetailsOptions {
  readonly invoiceId: string;
  readonly wirePrefix: string;
  readonly charset?: string;
}

/**
 * Reads leniently and in bounded memory: the invoice may be wrapped in any object; fields of an unexpected type are
 * left out.
 */
export class DetailsReader {
  readonly #options: DetailsOptions;
  readonly #skeleton: JsonSkeleton;

  constructor(options: DetailsOptions) {
    this.#options = options;
    this.#skeleton = new JsonSkeleton(options.charset);
  }

  push(bytes: Uint8Array): void {
    asAnswer(() => this.#skeleton.push(bytes));
  }

  end(): InvoiceDetails {
    const json = asAnswer(() => this.#skeleton.end());
    const invoice = findInvoice(json, this.#options);
    if (invoice === null) throw new MalformedAnswerError('The details answer holds no invoice.');
    const { invoiceId, wirePrefix } = this.#options;
    const header = recognizedHeader(invoice, wirePrefix, invoiceId);
    if (header.invoiceId !== undefined && !sameId(header.invoiceId, invoiceId)) {
      throw new MalformedAnswerError(`The details answer is about ${header.invoiceId}, not ${invoiceId}.`);
    }
    const status = header.invoiceStatus ?? null;
    return { status, unknownStatus: status === null ? unknownStatusOf(invoice) : null, header };
  }
}

function asAnswer<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    const problem = error.message.replace(/^The body/, 'The details answer');
    throw new MalformedAnswerError(problem, { cause: error });
  }
}

const MAX_DEPTH = 6;
const ID_KEYS = ['invoiceId', 'id'] as const;

/** The requested invoice wins over any other, such as the parent invoice that it names. */
function findInvoice(json: unknown, { invoiceId, wirePrefix }: DetailsOptions): JsonObject | null {
  let other: JsonObject | null = null;
  let byStatus: JsonObject | null = null;
  for (const level of objectLevels(json, MAX_DEPTH)) {
    const objects = level.map(withCamelKeys);
    const idOf = (object: JsonObject) => invoiceIdOf(object, wirePrefix, invoiceId);
    const requested = objects.find((object) => sameId(idOf(object) ?? '', invoiceId));
    if (requested !== undefined) return requested;
    other ??= objects.find((object) => idOf(object) !== undefined) ?? null;
    byStatus ??= objects.find((object) => statusOf(object) !== null) ?? null;
  }
  return other ?? byStatus;
}

function withCamelKeys(object: JsonObject): JsonObject {
  const named = Object.entries(object).map(([key, value]) => [camelCase(key), key, value] as const);
  const respelled = named.filter(([camel, key]) => camel !== key && !Object.hasOwn(object, camel));
  return { ...object, ...Object.fromEntries(respelled.map(([camel, , value]) => [camel, value])) };
}

function camelCase(key: string): string {
  if (key.startsWith('__')) return key;
  const joined = key.replace(/[_-]+(\p{L})/gu, (_, letter: string) => letter.toUpperCase());
  return joined.replace(/^\p{Lu}/u, (letter) => letter.toLowerCase()).replace(/ID$/, 'Id');
}

function invoiceIdOf(object: JsonObject, wirePrefix: string, requestedId: string): string | undefined {
  const reading = readIds(object, wirePrefix);
  const spelled = reading.ok ? reading.ids.invoiceId : undefined;
  const candidates = [spelled, ...ID_KEYS.map((key) => object[key])];
  const found = candidates.map(readId).find((id) => id !== undefined);
  // A bare `id` may be anything's: it counts only beside a status, or when it is the requested one.
  const isInvoice = spelled !== undefined || object.invoiceId !== undefined || statusOf(object) !== null;
  return isInvoice || sameId(found ?? '', requestedId) ? found : undefined;
}

/** `invoiceStatus` counts before `status`, unless one of them is a void: no void may be missed. */
function statusOf(object: JsonObject): WebhookStatus | null {
  const read = statusTextsOf(object).map(readStatus);
  if (read.includes('voided')) return 'voided';
  return isContradicted(object) ? null : (read[0] ?? null);
}

function unknownStatusOf(object: JsonObject): string | null {
  const texts = statusTextsOf(object);
  if (texts.length === 0) return null;
  return printable(isContradicted(object) ? texts.join(' and ') : (texts[0] ?? ''), 60);
}

function statusTextsOf({ invoiceStatus, status }: JsonObject): readonly string[] {
  const values = [invoiceStatus, status].flatMap((value) =>
    value instanceof Contradiction ? value.contradictoryValues : [value],
  );
  return values.map(textIn).filter((text) => text !== '');
}

function isContradicted({ invoiceStatus, status }: JsonObject): boolean {
  return invoiceStatus instanceof Contradiction || status instanceof Contradiction;
}

/** A status may be an object of its own: `{"code":"CANCELED","label":"…"}`; a number is an unknown status. */
function textIn(status: unknown): string {
  if (typeof status === 'string') return status.trim();
  if (isLosslessNumber(status)) return status.value;
  if (!isJsonObject(status)) return '';
  return textIn([status.code, status.name, status.value].find((text) => typeof text === 'string'));
}

function textOrNull(value: unknown): string | null | undefined {
  return value === null ? null : readText(value);
}

function recognizedHeader(
  object: JsonObject,
  wirePrefix: string,
  requestedId: string,
): Partial<InvoiceHeader> {
  const ids = readIds(object, wirePrefix);
  const tenant = ids.ok ? ids.ids.tenantId : undefined;
  return {
    ...readHeaderFields(object),
    ...withoutUndefined({
      partnerInvoiceId: textOrNull(object.partnerInvoiceId),
      partnerTenantId: textOrNull(object.partnerTenantId),
      tenantId: tenant === null ? null : readId(tenant),
      invoiceId: invoiceIdOf(object, wirePrefix, requestedId),
      invoiceStatus: statusOf(object) ?? undefined,
    }),
  };
}

function sameId(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}
