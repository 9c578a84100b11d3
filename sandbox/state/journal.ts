/** How changes are told in the journal, line by line, and how lines get into its file. */
import { writeSync } from 'node:fs';
import type { BillingEvent } from '../model.ts';
import type { Kind } from './store.ts';

/** A line of the journal: an object as it is, what changed of it, or, with neither, its end. */
export interface Line {
  readonly kind: Kind;
  readonly id: string;
  readonly value?: object;
  readonly change?: object;
}

/**
 * A whole object. The body of an event follows after a tab, as it is: it is JSON without line breaks already, and to
 * escape it once more would cost more than the rest of the line.
 */
export function lineOf(kind: Kind, id: string, value: object): string {
  if (kind !== 'event') return JSON.stringify({ kind, id, value });
  const { body } = value as BillingEvent;
  return `${JSON.stringify({ kind, id, value: { ...value, body: undefined } })}\t${body}`;
}

export function readLine(text: string): Line {
  const tab = text.indexOf('\t');
  if (tab < 0) return JSON.parse(text) as Line;
  const line = JSON.parse(text.slice(0, tab)) as Line;
  return { ...line, value: { ...line.value, body: text.slice(tab + 1) } };
}

/** In UTF-8, of those that `length` counts. */
const MOST_BYTES_OF_A_CHARACTER = 3;
/** For texts of a usual length, so that nothing is set aside for each. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024);

export function writeAll(file: number, text: string): void {
  const fits = text.length * MOST_BYTES_OF_A_CHARACTER <= scratch.length;
  const bytes = fits ? scratch.subarray(0, scratch.write(text)) : Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** The fields that are another value than before; null when one is gone, which only the whole object can show. */
export function changedFields(before: object, after: object): object | null {
  const old = before as Readonly<Record<string, unknown>>;
  const current = after as Readonly<Record<string, unknown>>;
  const changed: Record<string, unknown> = {};
  for (const name in old) if (current[name] === undefined) return null;
  for (const name in current) if (current[name] !== old[name]) changed[name] = current[name];
  return changed;
}
