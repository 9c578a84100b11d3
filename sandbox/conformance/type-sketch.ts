/**
 * Draws the shape of a JSON value without any of its values, so that what a real account answers can be shown to
 * others: `{ invoiceId: uuid, lineItems: [{ billingCost: decimal }] }`.
 */
import { digitsOf, isObject } from './http.ts';

const FORMS: readonly (readonly [string, RegExp])[] = [
  ['uuid', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i],
  ['date', /^\d{4}-\d\d-\d\d$/],
  ['instant', /^\d{4}-\d\d-\d\dT\d\d:\d\d/],
  ['url', /^https?:\/\//],
  ['sha256', /^[0-9a-f]{64}$/i],
  ['decimal text', /^-?\d+\.\d+$/],
];

/** The shapes in a list become one, their differences joined by `|`. */
export function typeSketch(value: unknown): string {
  if (Array.isArray(value)) return `[${joined(value)}]`;
  if (!isObject(value)) return nameOf(value);
  const fields = Object.entries(value).map(([name, inner]) => `${name}: ${typeSketch(inner)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

function joined(values: readonly unknown[]): string {
  const objects = values.filter(isObject);
  if (objects.length < values.length || objects.length === 0) {
    return [...new Set(values.map(typeSketch))].sort().join(' | ');
  }
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))];
  const fields = names.map((name) => {
    const there = objects.filter((one) => name in one);
    const optional = there.length < objects.length ? '?' : '';
    return `${name}${optional}: ${joined(there.map((one) => one[name]))}`;
  });
  return `{ ${fields.join(', ')} }`;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  const digits = digitsOf(value);
  if (digits !== null) return /^-?\d+$/.test(digits) ? 'integer' : 'decimal';
  if (typeof value !== 'string') return typeof value;
  return FORMS.find(([, form]) => form.test(value))?.[0] ?? 'string';
}
