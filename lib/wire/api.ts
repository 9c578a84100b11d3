/** The answers of the billing service's endpoints as values (spec 2.1, 2.2, 4.3, 7). */

import { z } from 'zod';
import {
  Count,
  describeIssues,
  Instant,
  isJsonObject,
  jsonOf,
  MalformedAnswerError,
  parseJson,
  Sha256,
  UrlText,
} from './json.ts';
import { readCount, readDecimal, readInstant, readSha256, readUrl } from './lenient-values.ts';
import type { ExportLocation } from './names.ts';
import { printable, withoutUrlQueries } from './text.ts';

/** Spec 2.1. The token is used verbatim, with every trailing `=`. */
export interface AccessToken {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  /** `partnerId` first, then what `partnerIds` adds; empty when the service names none. */
  readonly partnerIds: readonly string[];
}

/** For logs: without URL queries, at most 200 characters each. */
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

/** Lifetime of a token without one (RFC 6749 allows that). It is short, because a refused token is replaced. */
const UNSTATED_SECONDS = 300;

/** A longer lifetime is a mistake, or means "unlimited"; a token that is refused before is replaced. */
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

/** The answer of the regenerate endpoint (spec 4.3). */
export const ExportAnnouncement = z.object({
  presignedUrl: UrlText,
  presignedUrlExpiresAt: Instant,
  fileHashSha256: Sha256,
  fileSizeBytes: z.union([z.int().nonnegative(), Count], 'expected a whole number of 0 or more'),
}) satisfies z.ZodType<ExportLocation>;

const MAX_DEPTH = 4;
/** Lower-case letters and digits of their names. */
const NAMES: Readonly<Record<keyof ExportLocation, readonly string[]>> = {
  presignedUrl: ['presignedurl', 'signedurl', 'downloadurl', 'url'],
  presignedUrlExpiresAt: ['presignedurlexpiresat', 'expiresat', 'expiration'],
  fileHashSha256: ['filehashsha256', 'filehash', 'filesha256', 'sha256'],
  fileSizeBytes: ['filesizebytes', 'filesize', 'sizebytes'],
};
/** Expiry of a URL without one: it is used, and replaced when storage refuses it. */
const UNSTATED_END = '9999-12-31T00:00:00Z';

/**
 * Returns the uppermost object with a URL; a value that cannot be read is returned unchanged, for the schema.
 *
 * @returns null when there is none
 */
export function findExport(json: unknown): Readonly<Record<keyof ExportLocation, unknown>> | null {
  let level: readonly unknown[] = [json];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth += 1) {
    for (const value of level) {
      const found = isJsonObject(value) ? exportIn(value) : null;
      if (found !== null) return found;
    }
    level = level.flatMap((value) =>
      Array.isArray(value)
        ? value.length === 1
          ? value
          : []
        : isJsonObject(value)
          ? Object.values(value)
          : [],
    );
  }
  return null;
}

function exportIn(object: Readonly<Record<string, unknown>>) {
  const values = new Map(
    Object.entries(object).map(([name, value]) => [name.replace(/[^a-z0-9]/gi, '').toLowerCase(), value]),
  );
  const readField = (field: keyof ExportLocation): unknown => {
    const name = NAMES[field].find((each) => (values.get(each) ?? null) !== null);
    return name === undefined ? undefined : values.get(name);
  };
  const url = readUrl(readField('presignedUrl'));
  if (url === undefined) return null;
  const [end, hash, size] = [
    readField('presignedUrlExpiresAt'),
    readField('fileHashSha256'),
    readField('fileSizeBytes'),
  ];
  return {
    presignedUrl: url,
    presignedUrlExpiresAt: readInstant(end) ?? UNSTATED_END,
    fileHashSha256: readSha256(hash) ?? hash,
    fileSizeBytes: readCount(size) ?? size,
  };
}

/** Words that name no encoding, though servers write them. */
const NO_ENCODING = new Set(['', 'identity', 'none', 'binary', 'utf-8', 'utf8', 'aws-chunked']);

/** In the order in which they were applied; empty when the bytes are what they are. */
export function encodingsIn(header: string | undefined): readonly string[] {
  const words = (header ?? '').split(',').map((word) => word.trim().toLowerCase());
  return words.filter((word) => !NO_ENCODING.has(word)).map((word) => word.replace(/^x-/, ''));
}
