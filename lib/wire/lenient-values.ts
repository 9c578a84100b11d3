/**
 * Reads what a delivery says in whatever spelling: undefined when it says nothing that can be relied on. At the endpoint
 * that is no reason to refuse (ADR 7): the service is asked for what is missing.
 */

import { createHash } from 'node:crypto';
import { isLosslessNumber } from 'lossless-json';
import { plainDecimal } from './decimal.ts';

/** Text, or a number as it was written; never empty. */
export function readText(value: unknown): string | undefined {
  if (isLosslessNumber(value)) return value.value;
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** A UUID in any of its spellings, as the service writes it: hyphens, no braces, letters as they came. */
export function readId(value: unknown): string | undefined {
  const text = readText(value)
    ?.replace(/^urn:uuid:/i, '')
    .replace(/^\{(.*)\}$/, '$1');
  const parts = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i.exec(
    text ?? '',
  );
  return parts?.slice(1).join('-');
}

/** The id itself when it is a UUID; otherwise a UUID made from it, the same for the same id each time (RFC 9562, version 8). */
export function readEventId(value: unknown): string | undefined {
  const text = readText(value);
  return readId(value) ?? (text === undefined ? undefined : idMadeFrom(`event id\n${text}`));
}

export function idMadeFrom(content: string | Uint8Array): string {
  const hex = createHash('sha256').update(content).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function readBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  return ['true', 'yes', '1', 'y', 'on'].includes(readText(value)?.toLowerCase() ?? '');
}

/** Decimal text, digits as they came; also of a number that stands in quotes. Not of one with thousands marks. */
export function readDecimal(value: unknown): string | undefined {
  const text = readText(value);
  if (text === undefined || !/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return undefined;
  try {
    return plainDecimal(text);
  } catch {
    return undefined;
  }
}

export function readCount(value: unknown): number | undefined {
  const text = readDecimal(value);
  const count = text !== undefined && /^\d+(\.0+)?$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(count) ? count : undefined;
}

export function readCurrency(value: unknown): string | undefined {
  const text = readText(value)?.toUpperCase();
  return text !== undefined && /^[A-Z]{3}$/.test(text) ? text : undefined;
}

/** Lower-case hex, also from base64 and behind `sha256:`. */
export function readSha256(value: unknown): string | undefined {
  const text = readText(value)?.replace(/^sha-?256[:=-]/i, '') ?? '';
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  const bytes = /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null;
  return bytes?.length === 32 ? bytes.toString('hex') : undefined;
}

export function readUrl(value: unknown): string | undefined {
  const text = readText(value);
  return text !== undefined && URL.canParse(text) && new URL(text).host !== '' ? text : undefined;
}

const ISO_8601 =
  /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/**
 * An instant of ISO 8601: without seconds, in the basic form, with `+0000`, or a day alone, which is its midnight. One
 * without an offset is UTC (spec 2.5). @returns as it came when every reader understands that, else in UTC
 */
export function readInstant(value: unknown): string | undefined {
  const found = ISO_8601.exec(readText(value) ?? '');
  if (found === null || !isDay(found)) return undefined;
  const [text = '', year, month, day, hour = '00', minute = '00', second = '00', fraction, offset = 'Z'] =
    found;
  const zone =
    offset.length === 1 ? 'Z' : `${offset.slice(0, 3)}:${offset.replace(':', '').slice(3) || '00'}`;
  const plain = `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction === undefined ? '' : `.${fraction}`}${zone}`;
  const at = new Date(plain);
  if (Number.isNaN(at.getTime())) return undefined;
  return plain === text ? text : at.toISOString();
}

/** A day, or an instant as `readInstant` has it (spec 2.6 says only ISO 8601). */
export function readDayOrInstant(value: unknown): string | undefined {
  const found = ISO_8601.exec(readText(value) ?? '');
  if (found === null || found[4] !== undefined) return readInstant(value);
  return isDay(found) ? `${found[1]}-${found[2]}-${found[3]}` : undefined;
}

/** 30 February is a day for `Date`, and no day. */
function isDay([, year, month, day]: RegExpExecArray): boolean {
  const at = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.getUTCDate() === Number(day);
}
