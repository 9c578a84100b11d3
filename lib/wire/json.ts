import { isLosslessNumber, parse } from 'lossless-json';
import type { z } from 'zod';
import { BillsyncError, EXIT } from '../errors.ts';
import { wellFormed } from '../text.ts';

/** Thrown by `parseJson`; the message never quotes the text, which may hold secrets. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError';
}

/**
 * Numbers are `LosslessNumber`s (hazard 36), texts are well-formed. A key that occurs twice with different values
 * becomes a `Contradiction`. @throws NotJsonError
 */
export function parseJson(json: string | Uint8Array): unknown {
  let text: string;
  try {
    text = typeof json === 'string' ? json : new TextDecoder('utf-8', { fatal: true }).decode(json);
  } catch {
    throw new NotJsonError('The body is not UTF-8.');
  }
  if (isDeeperThan(MAX_JSON_DEPTH, text)) {
    throw new NotJsonError(`The body nests objects or arrays more than ${MAX_JSON_DEPTH} deep.`);
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

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !isLosslessNumber(value) && !(value instanceof Contradiction);
}

/** Yields the objects of each level, the uppermost level first. A list of one is a wrapper; longer lists are not entered. */
export function* objectLevels(json: unknown, maxDepth: number): Generator<readonly JsonObject[]> {
  let level: readonly unknown[] = [json];
  for (let depth = 0; depth < maxDepth && level.length > 0; depth += 1) {
    const objects = level.map(unwrapSingle).filter(isJsonObject);
    yield objects;
    level = objects.flatMap((object) => Object.values(object));
  }
}

export function unwrapSingle(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? unwrapSingle(value[0]) : value;
}

/** Describes the first five problems, never with a value of `input`. */
export function describeIssues(error: z.ZodError, prefix: string, input: unknown): string {
  const first = error.issues.slice(0, 5).map((issue) => {
    const path = [prefix, ...issue.path.map(String)].filter((part) => part !== '').join('.');
    return `${path}: ${valueAt(input, issue.path) === undefined ? 'missing' : issue.message}`;
  });
  const rest = error.issues.length - first.length;
  return first.join('; ') + (rest > 0 ? `; and ${rest} more` : '');
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (isJsonObject(value) ? value[String(key)] : undefined), input);
}

/**
 * A key that occurs twice: neither value is chosen, because two readers would see two invoices (ADR 7). The stored
 * JSON keeps every value.
 */
export class Contradiction {
  readonly contradictoryValues: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.contradictoryValues = values;
  }
}

export function contradictionOf(one: unknown, other: unknown): unknown {
  if (one instanceof Contradiction) return new Contradiction([...one.contradictoryValues, other]);
  if (!isJsonObject(one) || !isJsonObject(other)) return new Contradiction([one, other]);
  const fields = Object.entries(other).map(([key, value]) => {
    const isNew = !Object.hasOwn(one, key) || isSame(one[key], value);
    return [key, isNew ? value : contradictionOf(one[key], value)];
  });
  // Assignment would treat the name `__proto__` specially.
  return Object.fromEntries([...Object.entries(one), ...fields]);
}

export function contradictionsIn(json: unknown, path = ''): readonly string[] {
  if (json instanceof Contradiction) return [path];
  if (typeof json !== 'object' || json === null || isLosslessNumber(json)) return [];
  return Object.entries(json).flatMap(([key, value]) =>
    contradictionsIn(value, path === '' ? key : `${path}.${key}`),
  );
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

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

export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  return mayBeIllFormed(json) ? JSON.stringify(wellFormedInside(JSON.parse(json))) : json;
}

export function mayBeIllFormed(json: string): boolean {
  return /\\u(?:d[89a-f]|0000)/i.test(json) || !json.isWellFormed();
}

/** The limit is far more than envelopes and answers need (spec 2.4: two levels), and far less than a stack allows. */
export const MAX_JSON_DEPTH = 64;

/** Checked before parsing, because parsers recurse. Also true for text that is not JSON. */
export function isDeeperThan(limit: number, text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        if (depth > limit) return true;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
    }
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === BACKSLASH) at += 1;
    else if (character === QUOTE) return at;
  }
  return text.length;
}

export class MalformedAnswerError extends BillsyncError {
  readonly code = 'malformed-answer';
  override readonly exitCode = EXIT.serviceError;
}
