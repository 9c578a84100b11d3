/**
 * These readers return undefined for a value that cannot be relied on. The delivery is not refused (ADR 7); the missing values are
 * requested from the service.
 */

import { createHash } from 'node:crypto';
import { isLosslessNumber } from 'lossless-json';
import { plainDecimal } from '../decimal.ts';
import { isDay } from '../text.ts';
import type { WebhookStatus } from './names.ts';

/** Returns a text, or a number as it was written; never the empty text. */
export function readText(value: unknown): string | undefined {
  if (isLosslessNumber(value)) return value.value;
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

/** Reads a UUID in any of its spellings and leaves its letters as they came. */
export function readId(value: unknown): string | undefined {
  const text = readText(value)
    ?.replace(/^urn:uuid:/i, '')
    .replace(/^\{(.*)\}$/, '$1');
  const parts = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i.exec(
    text ?? '',
  );
  return parts?.slice(1).join('-');
}

/** A text that is no UUID gives the same UUID each time (RFC 9562, version 8). */
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

/** Returns the digits as received; a number with thousands separators is undefined. */
export function readDecimal(value: unknown): string | undefined {
  const text = readText(value);
  if (text === undefined || !/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return undefined;
  try {
    return plainDecimal(text);
  } catch {
    // Above every amount, so that it contradicts each file instead of counting as not stated.
    return /e-/i.test(text) ? undefined : `${text.startsWith('-') ? '-' : ''}${'9'.repeat(64)}`;
  }
}

/** A count that no file can have is the largest that a column stores. */
export function readCount(value: unknown): number | undefined {
  const text = readDecimal(value);
  if (text === undefined || !/^\d+(\.0+)?$/.test(text)) return undefined;
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export function readCurrency(value: unknown): string | undefined {
  const text = readText(value)?.toUpperCase();
  return text !== undefined && /^[A-Z]{3}$/.test(text) ? text : undefined;
}

/** Returns lower-case hex, also of a hash in base64 or behind `sha256:`. */
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
 * A day alone is its midnight; without an offset it is UTC (spec 2.5). As it came when every reader understands that,
 * else in UTC.
 */
export function readInstant(value: unknown): string | undefined {
  const found = ISO_8601.exec(readText(value) ?? '');
  if (found === null) return undefined;
  const [text = '', year, month, day, hour = '00', minute = '00', second = '00', fraction, offset = 'Z'] =
    found;
  if (!isDay(`${year}-${month}-${day}`)) return undefined;
  const zone =
    offset.length === 1 ? 'Z' : `${offset.slice(0, 3)}:${offset.replace(':', '').slice(3) || '00'}`;
  const plain = `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction === undefined ? '' : `.${fraction}`}${zone}`;
  const at = new Date(plain);
  if (Number.isNaN(at.getTime())) return undefined;
  return plain === text ? text : at.toISOString();
}

export function readDayOrInstant(value: unknown): string | undefined {
  const found = ISO_8601.exec(readText(value) ?? '');
  if (found === null || found[4] !== undefined) return readInstant(value);
  const day = `${found[1]}-${found[2]}-${found[3]}`;
  return isDay(day) ? day : undefined;
}

const SPELLINGS: Readonly<Record<WebhookStatus, readonly string[]>> = {
  draft: ['draft', 'drafted', 'created'],
  pending: ['pending', 'pendingapproval', 'awaitingapproval'],
  finalized: ['finalized', 'finalised', 'final', 'approved'],
  voided: ['voided', 'void', 'cancelled', 'canceled', 'cancel', 'annulled'],
};

const STATUS_OF = new Map(
  Object.entries(SPELLINGS).flatMap(([status, texts]) =>
    texts.map((text) => [text, status as WebhookStatus]),
  ),
);

/** `INVOICE_STATUS_CANCELED` → `voided`. null: unknown; reading an unknown one as "no change" would lose a void. */
export function readStatus(value: unknown): WebhookStatus | null {
  if (typeof value !== 'string') return null;
  const letters = value.toLowerCase().replace(/[^\p{L}]/gu, '');
  return STATUS_OF.get(letters.replace(/^(?:invoice)?(?:status)?/, '')) ?? null;
}

export function withoutUndefined<T extends object>(
  fields: T,
): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const read = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(read) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}
