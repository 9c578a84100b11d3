/**
 * What a key of JSON says when it stands twice with different values: neither of them. Two readers would see two
 * invoices, so no value is chosen; whatever else the body says stays readable (ADR 7).
 */

import { isLosslessNumber } from 'lossless-json';

/** As JSON it is `{"contradictoryValues":[…]}`, so that what is kept of a body has every value that came. */
export class Contradiction {
  readonly contradictoryValues: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.contradictoryValues = values;
  }
}

/** The two values of one key. Of two objects, each field is compared by itself. */
export function contradictionOf(one: unknown, other: unknown): unknown {
  if (one instanceof Contradiction) return new Contradiction([...one.contradictoryValues, other]);
  if (!isFields(one) || !isFields(other)) return new Contradiction([one, other]);
  const fields = Object.entries(other).map(([key, value]) => {
    const isNew = !Object.hasOwn(one, key) || isSame(one[key], value);
    return [key, isNew ? value : contradictionOf(one[key], value)];
  });
  // Not by assignment: `__proto__` is a name like any other.
  return Object.fromEntries([...Object.entries(one), ...fields]);
}

/** Where the contradictions stand, as `payload.invoiceTotalAmount`. */
export function contradictionsIn(json: unknown, path = ''): readonly string[] {
  if (json instanceof Contradiction) return [path];
  if (typeof json !== 'object' || json === null || isLosslessNumber(json)) return [];
  return Object.entries(json).flatMap(([key, value]) =>
    contradictionsIn(value, path === '' ? key : `${path}.${key}`),
  );
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !isLosslessNumber(value) && !(value instanceof Contradiction);
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
