/** The answers of the billing service's endpoints as values (spec 2.1, 2.2, 4.3, 7). */

import { z } from 'zod';
import { jsonOf, MalformedAnswerError } from './answer-json.ts';
import { findExport } from './find-export.ts';
import type { ExportLocation } from './invoice-event.ts';
import { readDecimal } from './lenient-values.ts';
import { ExportAnnouncement } from './parse-delivery.ts';
import { printable } from './printable.ts';
import { withoutUrlQueries } from './url-query.ts';
import { Count, describeIssues, isJsonObject, parseJson } from './wire.ts';

/** Spec 2.1. The token is used verbatim, with every trailing `=`. */
export interface AccessToken {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  /** `partnerId` first, then what `partnerIds` adds; empty when the service names none. */
  readonly partnerIds: readonly string[];
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
  const what = 'regenerate answer';
  const json = jsonOf(body, what);
  return checkedValue(ExportAnnouncement, findExport(json) ?? json, what);
}

/** An error that a service sends with 200 instead of a token (RFC 6749 wants 400); null: no such answer. */
export function tokenError(body: Uint8Array): ErrorBody | null {
  try {
    const json = parseJson(body);
    if (!isJsonObject(json) || json.error === undefined || json.access_token !== undefined) return null;
  } catch {
    return null;
  }
  return parseErrorBody(body);
}

/** Never throws: an error body may be JSON, storage's XML, a proxy's HTML, or nothing. */
export function parseErrorBody(body: Uint8Array): ErrorBody {
  const text = new TextDecoder().decode(body);
  const fields = errorFields(text);
  return { code: legible(fields.code), description: legible(fields.description) };
}

/** When a service does not say how long its token lives (RFC 6749 lets it): short, and a refused one is replaced. */
const UNSTATED_SECONDS = 300;

/** A longer life is a mistake, or means "without limit" in some unit; a token that is refused before is replaced in any case. */
const MAX_SECONDS = 86_400;

/**
 * A number, also in quotes and with a fraction, which is cut. A life that is not positive is 0: the token is used once, as
 * it may well be good.
 */
const Seconds = z
  .unknown()
  .optional()
  .transform((value, context) => {
    if (value === undefined || value === null) return UNSTATED_SECONDS;
    const seconds = Math.floor(Number(readDecimal(value) ?? Number.NaN));
    if (!Number.isNaN(seconds)) return Math.max(0, Math.min(seconds, MAX_SECONDS));
    context.addIssue('expected seconds');
    return z.NEVER;
  });

const TokenAnswer = z.object({
  access_token: z.string().trim().min(1),
  token_type: z
    .string()
    .trim()
    // Whatever else a service calls it is sent as a bearer's; only these are sent in another way.
    .refine((type) => !/^(mac|dpop|pop|n_a)$/i.test(type), 'expected bearer')
    .nullish(),
  expires_in: Seconds,
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

function checked<Schema extends z.ZodType>(schema: Schema, body: Uint8Array, what: string): z.output<Schema> {
  return checkedValue(schema, jsonOf(body, what), what);
}

function checkedValue<Schema extends z.ZodType>(
  schema: Schema,
  json: unknown,
  what: string,
): z.output<Schema> {
  const reading = schema.safeParse(json);
  if (reading.success) return reading.data;
  throw new MalformedAnswerError(
    `The ${what} is not as specified: ${describeIssues(reading.error, '', json)}`,
  );
}
