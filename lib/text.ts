/**
 * JSON can contain half a surrogate pair or a NUL, which neither DuckDB's nor PostgreSQL's JSON reads back: one such
 * character would stop every statement that the record is part of.
 */

import { createHash } from 'node:crypto';
import { isLosslessNumber } from 'lossless-json';

export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** The beginning of a text, `length` UTF-16 units at most; a character that does not fit whole is left out. */
export function beginningOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

const REPLACEMENT = '\ufffd';

export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A calendar day, `YYYY-MM-DD`: `Date` reads 30 February as 2 March. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}\p{Noncharacter_Code_Point}\u2800\u3164]/gu;
/** Joiners are part of how some scripts and emoji are written; these three scripts have no use for them. */
const JOINED =
  /^(?![\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])[\p{L}\p{M}\p{Extended_Pictographic}]$/u;

/**
 * Escapes invisible characters, so that text cannot move a cursor, reorder its surroundings or imitate another text.
 * Joiners stay.
 */
export function visible(text: string): string {
  return text.replace(/\r?\n/g, '⏎').replace(UNSEEN, (character, at: number) => {
    if (character === ' ' || character === '\u3000') return character;
    return isJoiner(character, text, at) ? character : escapeCharacter(character);
  });
}

/** `Acme` and `Acme ` are two names: blanks at the ends of a cell are marked. */
export function visibleCell(text: string): string {
  return visible(text).replace(/^ +| +$/g, (blanks) => '␣'.repeat(blanks.length));
}

export function printable(text: string, limit = 200): string {
  let printed = '';
  for (const character of text.slice(0, limit + 1)) {
    const next = BREAKS[character] ?? visible(character);
    if (printed.length + next.length > limit) return `${beginningOf(printed, limit - 1)}…`;
    printed += next;
  }
  return printed;
}

const BREAKS: Readonly<Record<string, string>> = { '\r': '\\r', '\n': '\\n', '\t': '\\t' };

function isJoiner(character: string, text: string, at: number): boolean {
  if (character !== '\u200c' && character !== '\u200d') return false;
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? '';
  const [after = ''] = text.slice(at + 1, at + 3);
  return JOINED.test(before) && JOINED.test(after);
}

function escapeCharacter(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/** `is_something` of warehouse/sql/csv-session.sql lists the same; a test compares them. */
const NOTHING = /^[\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]*$/u;

export function isWithoutVisible(text: string): boolean {
  return NOTHING.test(text);
}

const URL_TEXT = /https?:(?:\\?\/){2}(?:[^\s"<>\\]|\\\/|\\u[0-9a-f]{4})*/gi;
const QUERY_START = /[?#]|\\u003f|\\u0023/i;

/** Returns the URL without query, fragment, user and password; text that is no URL is cut at its first `?` or `#`. */
export function withoutQuery(url: string): string {
  if (!URL.canParse(url)) return url.split(/[?#]/, 1)[0] ?? '';
  const { protocol, host, pathname } = new URL(url);
  return host === '' ? protocol + pathname : `${protocol}//${host}${pathname}`;
}

export function withoutUrlQueries(text: string): string {
  return text.replace(URL_TEXT, (url) => {
    const start = url.search(QUERY_START);
    return (start === -1 ? url : url.slice(0, start)).replace(/^(https?:(?:\\?\/){2})[^/\\@]*@/i, '$1');
  });
}

/** URLs lose their query in whatever field, because the next version of the service may name another than `presignedUrl`. */
export function withoutUrlQueriesInside(json: unknown, key = ''): unknown {
  if (typeof json === 'string') return key === 'presignedUrl' ? withoutQuery(json) : withoutUrlQueries(json);
  if (Array.isArray(json)) return json.map((element) => withoutUrlQueriesInside(element, key));
  if (typeof json !== 'object' || json === null || isLosslessNumber(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, withoutUrlQueriesInside(value, name)]),
  );
}

export function uuidOrNull(text: string | undefined): string | null {
  return text !== undefined && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
    ? text.toLowerCase()
    : null;
}

const MAX_NAME_LENGTH = 120;

/** Shortens a name for addresses and forms: its beginning, and a part of its SHA-256 by which it is found again. */
export function shortName(name: string): string {
  if (name.length <= MAX_NAME_LENGTH) return name;
  return `${beginningOf(name, MAX_NAME_LENGTH - 20)}…${createHash('sha256').update(name).digest('hex').slice(0, 12)}`;
}

/** The part of the SHA-256 by which the whole name is found; null for a name that is not shortened. */
export function markOfShortName(name: string): string | null {
  return /^.{80,}…([0-9a-f]{12})$/su.exec(name)?.[1] ?? null;
}
