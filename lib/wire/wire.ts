/** The zod vocabulary of the service's JSON: numbers keep their digits, ids and instants are checked once, here. */

import { isLosslessNumber, LosslessNumber, parse } from 'lossless-json';
import { z } from 'zod';
import { Contradiction, contradictionOf } from './contradiction.ts';
import { plainDecimal } from './decimal.ts';
import { DEEPEST_JSON, isDeeperThan } from './json-depth.ts';
import { mayBeIllFormed, wellFormedInside } from './well-formed.ts';

/** Thrown by `parseJson`; the message never quotes the text, which may hold secrets. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError';
}

/**
 * JSON text or UTF-8 bytes as a value whose numbers are `LosslessNumber`s (hazard 36) and whose texts are well-formed:
 * this is where text of others enters, and half a character in it would be refused by every store behind. A key that
 * stands twice with different values says neither (`Contradiction`). Nesting beyond `DEEPEST_JSON` is refused.
 *
 * @throws NotJsonError
 */
export function parseJson(json: string | Uint8Array): unknown {
  let text: string;
  try {
    text = typeof json === 'string' ? json : new TextDecoder('utf-8', { fatal: true }).decode(json);
  } catch {
    throw new NotJsonError('The body is not UTF-8.');
  }
  if (isDeeperThan(DEEPEST_JSON, text)) {
    throw new NotJsonError(`The body nests objects or arrays more than ${DEEPEST_JSON} deep.`);
  }
  try {
    const value = parse(text, null, {
      onDuplicateKey: ({ oldValue, newValue }) => contradictionOf(oldValue, newValue),
    });
    return mayBeIllFormed(text) ? wellFormedInside(value) : value;
  } catch (error) {
    const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
    const what = 'The body is not JSON';
    throw new NotJsonError(position === undefined ? `${what}.` : `${what} (at character ${position}).`);
  }
}

/** True for a JSON object, as opposed to an array, a number, null or a contradiction. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !isLosslessNumber(value) && !(value instanceof Contradiction);
}

/** A JSON number as decimal text, digits as received, without exponent. */
export const DecimalText = z
  .custom<LosslessNumber>((value) => value instanceof LosslessNumber, 'expected a number')
  .transform((number, context) => {
    try {
      return plainDecimal(number.value);
    } catch {
      context.addIssue('a number with too many digits');
      return z.NEVER;
    }
  });

/** A JSON number that counts something: whole, not negative, safe. `3.0` and `1e3` are whole. */
export const Count = DecimalText.transform((text, context) => {
  const count = /^\d+(\.0+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(count)) return count;
  context.addIssue('expected a whole number of 0 or more');
  return z.NEVER;
});

/** An instant, kept as text; `Z`, an offset, or neither (then UTC by spec 2.5). */
export const Instant = z.iso.datetime({ offset: true, local: true });

/** Lower-case hex from hex of any case or from base64, also with the name of the algorithm in front (`sha256:…`). */
export const Sha256 = z
  .string()
  .transform((text) => text.trim().replace(/^sha-?256[:=-]/i, ''))
  .transform((text) =>
    /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64').toString('hex') : text.toLowerCase(),
  )
  .refine((text) => /^[0-9a-f]{64}$/.test(text), 'expected 64 hexadecimal digits');

/** A URL with a host; which schemes and hosts may be called is decided at the call. */
export const UrlText = z
  .string()
  .refine((text) => URL.canParse(text) && new URL(text).host !== '', 'expected a URL');

/** `payload.invoiceTotalAmount: expected a number; …`, the first five problems; never a value of `input`. */
export function describeIssues(error: z.ZodError, prefix: string, input: unknown): string {
  const shown = error.issues.slice(0, 5).map((issue) => {
    const path = [prefix, ...issue.path.map(String)].filter((part) => part !== '').join('.');
    return `${path}: ${valueAt(input, issue.path) === undefined ? 'missing' : issue.message}`;
  });
  const rest = error.issues.length - shown.length;
  return shown.join('; ') + (rest > 0 ? `; and ${rest} more` : '');
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (isJsonObject(value) ? value[String(key)] : undefined), input);
}
