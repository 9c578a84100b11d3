/**
 * Text that every store takes: no half of a surrogate pair and no NUL, U+FFFD in their place.
 *
 * JSON can write both (`"\ud800"`, `"\u0000"`), a service that cuts a text in the middle of an emoji sends the first, and
 * neither DuckDB's nor PostgreSQL's JSON reads them back: one such character in one record would stop every statement that
 * the record is part of. So text is made well-formed where it enters (`parseJson`), and once more where JSON is
 * written to the archive or read from it.
 */

import { isLosslessNumber } from 'lossless-json';
import { Contradiction } from './contradiction.ts';

/** The text itself when nothing is wrong with it. */
export function wellFormed(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** The same value with every text in it, names of fields included, made well-formed. */
export function wellFormedInside(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value);
  if (Array.isArray(value)) return value.map(wellFormedInside);
  if (typeof value !== 'object' || value === null || isLosslessNumber(value)) return value;
  if (value instanceof Contradiction)
    return new Contradiction(value.contradictoryValues.map(wellFormedInside));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [wellFormed(name), wellFormedInside(inner)]),
  );
}

/** JSON text of a value, as `JSON.stringify` writes it, that any other reader of JSON takes as well. */
export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  return mayBeIllFormed(json) ? JSON.stringify(wellFormedInside(JSON.parse(json))) : json;
}

/** Whether JSON text can hold what is not well-formed; quick, and wrong only in being too careful. */
export function mayBeIllFormed(json: string): boolean {
  return /\\u(?:d[89a-f]|0000)/i.test(json) || !json.isWellFormed();
}

/** The beginning of a text, at most so many UTF-16 units long; a character that does not fit whole is left out. */
export function beginningOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

const REPLACEMENT = '\ufffd';
