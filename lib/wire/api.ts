import { printable, withoutUrlQueries } from '../text.ts';
import type { ExportLocation } from './invoice-event.ts';
import {
  isJsonObject,
  type JsonObject,
  MalformedAnswerError,
  NotJsonError,
  objectLevels,
  parseJson,
} from './json.ts';
import { readCount, readDecimal, readInstant, readSha256, readText, readUrl } from './lenient-values.ts';

/** An access token (spec 2.1) is used verbatim, with every trailing `=`. */
export interface AccessToken {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly partnerIds: readonly string[];
}

/** Texts of an error's body for logs, without URL queries and at most 200 characters each. */
export interface ErrorBody {
  readonly code: string | null;
  readonly description: string | null;
}

/** The lifetime of a token that states none (RFC 6749 allows that). It is short, because a refused token is replaced. */
const UNSTATED_SECONDS = 300;
/** A token that states a longer lifetime is renewed after this time: the statement is a mistake, or means "unlimited". */
const MAX_SECONDS = 86_400;

export function parseToken(body: Uint8Array): AccessToken {
  const malformed = malformedAnswer('token answer');
  const json = objectIn(body, 'token answer');
  const accessToken = typeof json.access_token === 'string' ? json.access_token.trim() : '';
  if (accessToken === '') throw malformed('access_token: missing');
  // A token of these types is not sent as a bearer's.
  if (/^(mac|dpop|pop|n_a)$/i.test(readText(json.token_type) ?? ''))
    throw malformed('token_type: expected bearer');
  // A lifetime that is not positive counts as 0: the token may be valid, so it is used once.
  const seconds = Math.floor(Number(readDecimal(json.expires_in ?? `${UNSTATED_SECONDS}`) ?? Number.NaN));
  if (Number.isNaN(seconds)) throw malformed('expires_in: expected seconds');
  const partnerIds = [json.partnerId, ...partnerIdsOf(json.partnerIds)].flatMap((id) => readText(id) ?? []);
  return {
    accessToken,
    expiresInSeconds: Math.max(0, Math.min(seconds, MAX_SECONDS)),
    partnerIds: [...new Set(partnerIds)],
  };
}

/** The string is not described further (spec 2.1): one id, several with commas or blanks, or JSON text. */
function partnerIdsOf(value: unknown): readonly unknown[] {
  return typeof value === 'string' ? value.split(/[\s,;"'[\]]+/) : Array.isArray(value) ? value : [];
}

/** @throws MalformedAnswerError unless status is 1 and info is pong (spec 2.2) */
export function parsePing(body: Uint8Array): void {
  const { status, info } = objectIn(body, 'ping answer');
  if (readCount(status) !== 1 || info !== 'pong')
    throw malformedAnswer('ping answer')('status must be 1 and info pong');
}

/** Expiry of a URL without one: it is used, and replaced when storage refuses it. */
const UNSTATED_END = '9999-12-31T00:00:00Z';
const MAX_DEPTH = 4;
const NAMES: Readonly<Record<keyof ExportLocation, readonly string[]>> = {
  presignedUrl: ['presignedurl', 'signedurl', 'downloadurl', 'url'],
  presignedUrlExpiresAt: ['presignedurlexpiresat', 'expiresat', 'expiration'],
  fileHashSha256: ['filehashsha256', 'filehash', 'filesha256', 'sha256'],
  fileSizeBytes: ['filesizebytes', 'filesize', 'sizebytes'],
};

/** Reads the answer of regenerate (spec 4.3). @throws MalformedAnswerError */
export function parseExportLocation(body: Uint8Array): ExportLocation {
  const malformed = malformedAnswer('regenerate answer');
  for (const objects of objectLevels(jsonOf(body, 'regenerate answer'), MAX_DEPTH)) {
    for (const object of objects) {
      const field = fieldsByName(object);
      const presignedUrl = readUrl(field('presignedUrl'));
      if (presignedUrl === undefined) continue;
      const fileHashSha256 = readSha256(field('fileHashSha256'));
      if (fileHashSha256 === undefined) throw malformed('fileHashSha256: expected a SHA-256');
      const fileSizeBytes = readCount(field('fileSizeBytes'));
      if (fileSizeBytes === undefined) throw malformed('fileSizeBytes: expected a whole number of 0 or more');
      const presignedUrlExpiresAt = readInstant(field('presignedUrlExpiresAt')) ?? UNSTATED_END;
      return { presignedUrl, presignedUrlExpiresAt, fileHashSha256, fileSizeBytes };
    }
  }
  throw malformed('presignedUrl: missing');
}

function fieldsByName(object: JsonObject): (field: keyof ExportLocation) => unknown {
  const values = new Map(
    Object.entries(object).map(([name, value]) => [name.replace(/[^a-z0-9]/gi, '').toLowerCase(), value]),
  );
  return (field) => NAMES[field].map((name) => values.get(name) ?? null).find((value) => value !== null);
}

function objectIn(body: Uint8Array, what: string): JsonObject {
  const json = jsonOf(body, what);
  return isJsonObject(json) ? json : {};
}

function jsonOf(body: Uint8Array, what: string): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    throw new MalformedAnswerError(`The ${what} is not JSON.`, { cause: error });
  }
}

function malformedAnswer(what: string): (problem: string) => MalformedAnswerError {
  return (problem) => new MalformedAnswerError(`The ${what} is not as specified: ${problem}`);
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

export function parseErrorBody(body: Uint8Array): ErrorBody {
  const text = new TextDecoder().decode(body);
  const fields = errorFields(text);
  return { code: legible(fields.code), description: legible(fields.description) };
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

const NO_ENCODING = new Set(['', 'identity', 'none', 'binary', 'utf-8', 'utf8', 'aws-chunked']);

export function encodingsIn(header: string | undefined): readonly string[] {
  const names = (header ?? '').split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => !NO_ENCODING.has(name)).map((name) => name.replace(/^x-/, ''));
}
