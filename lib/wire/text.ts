/**
 * Text that every store takes: no half of a surrogate pair and no NUL, U+FFFD in their place.
 *
 * JSON can write both (`"\ud800"`, `"\u0000"`), a service that cuts a text in the middle of an emoji sends the first, and
 * neither DuckDB's nor PostgreSQL's JSON reads them back: one such character in one record would stop every statement that
 * the record is part of. So text is made well-formed where it enters (`parseJson`), and once more where JSON is
 * written to the archive or read from it.
 */

import { isLosslessNumber } from 'lossless-json';
import type { InvoiceEvent } from './names.ts';

/** The text itself when nothing is wrong with it. */
export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** The beginning of a text, at most so many UTF-16 units long; a character that does not fit whole is left out. */
export function beginningOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

const REPLACEMENT = '\ufffd';

/** Invisible characters, and those that change how other text is displayed. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}\p{Noncharacter_Code_Point}\u2800\u3164]/gu;
/** Joiners are part of how some scripts and emoji are written; these three scripts have no use for them. */
const JOINED =
  /^(?![\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])[\p{L}\p{M}\p{Extended_Pictographic}]$/u;

/**
 * Escapes invisible characters, so that text cannot move a cursor, reorder its surroundings or imitate another text: control and format characters, bidirectional overrides and spaces that only
 * look like one as `\uXXXX`, a line break as ⏎. Letters and their joiners stay as they are.
 */
export function visible(text: string): string {
  return text.replace(/\r?\n/g, '⏎').replace(UNSEEN, (character, at: number) => {
    if (character === ' ' || character === '\u3000') return character;
    return isJoiner(character, text, at) ? character : escaped(character);
  });
}

/** `visible` with at most `limit` characters, line breaks as escapes: for a value in a message. */
export function printable(text: string, limit = 200): string {
  let printed = '';
  // An escape is never cut in two, and what is far beyond the limit is not looked at.
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

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/**
 * White space, control characters, what Unicode excludes from every font, and the blanks that count as letters or symbols
 * (Hangul fillers, Braille without dots). `is_something` of warehouse/sql/csv-session.sql lists the same; a test compares them.
 */
const NOTHING = /^[\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]*$/u;

/** Whether a text is empty or only invisible. */
export function isNothing(text: string): boolean {
  return NOTHING.test(text);
}

/** A whole URL in text. In JSON text its slashes may be escaped, and another escape, such as that of a quote, ends it. */
const URL_TEXT = /https?:(?:\\?\/){2}(?:[^\s"<>\\]|\\\/|\\u[0-9a-f]{4})*/gi;
/** Where the query starts: `?` or `#`, in JSON also as \u003f and \u0023. */
const QUERY_START = /[?#]|\\u003f|\\u0023/i;

/** The URL without query, fragment, user and password; text that is no URL comes back cut at its first `?` or `#`. */
export function withoutQuery(url: string): string {
  if (!URL.canParse(url)) return url.split(/[?#]/, 1)[0] ?? '';
  const { protocol, host, pathname } = new URL(url);
  return host === '' ? protocol + pathname : `${protocol}//${host}${pathname}`;
}

/** Text of any kind (a log line, a broken delivery) in which no URL keeps its query. */
export function withoutUrlQueries(text: string): string {
  return text.replace(URL_TEXT, (url) => {
    const start = url.search(QUERY_START);
    return (start === -1 ? url : url.slice(0, start)).replace(/^(https?:(?:\\?\/){2})[^/\\@]*@/i, '$1');
  });
}

/**
 * A parsed JSON value in which no URL keeps its query, in whatever field it is: the specification names one
 * (`presignedUrl`), the next version of the service may name another.
 */
export function withoutUrlQueriesInside(json: unknown, key = ''): unknown {
  if (typeof json === 'string') return key === 'presignedUrl' ? withoutQuery(json) : withoutUrlQueries(json);
  if (Array.isArray(json)) return json.map((element) => withoutUrlQueriesInside(element, key));
  if (typeof json !== 'object' || json === null || isLosslessNumber(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, withoutUrlQueriesInside(value, name)]),
  );
}

/** The event as the archive stores it. */
export function withoutUrlQuery(event: InvoiceEvent): InvoiceEvent {
  if (event.export === null) return event;
  return {
    ...event,
    export: { ...event.export, presignedUrl: withoutQuery(event.export.presignedUrl) },
  };
}

/** The id in lower case, or null when it is no UUID. */
export function uuidOrNull(text: string | undefined): string | null {
  return text !== undefined && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
    ? text.toLowerCase()
    : null;
}
