/** Reads a fact from the text it was archived as, in every kind of archive; what is none was damaged, and is said. */

import type { Fact } from './archive.js';

/** Each kind once: the type sees to it that none is missing. */
const KINDS: Readonly<Record<Fact['kind'], true>> = {
  duplicate: true,
  file: true,
  load: true,
  details: true,
  attention: true,
  resolved: true,
  discard: true,
};

/** null when the text is no fact: no JSON, of no known kind, or without its instant. */
export function parseFact(text: string): Fact | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { kind, at } = value as { readonly kind?: unknown; readonly at?: unknown };
  const isFact = typeof kind === 'string' && Object.hasOwn(KINDS, kind) && typeof at === 'string';
  return isFact ? (value as Fact) : null;
}
