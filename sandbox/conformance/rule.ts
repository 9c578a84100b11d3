/** Rules report the shape of a JSON value, never its data: `{ invoiceId: uuid, lineItems: [{ billingCost: decimal }] }`. */

import { digitsOf, isObject } from './http.ts';
import type { SuiteContext } from './suite-context.ts';

export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const FORMS: readonly (readonly [string, RegExp])[] = [
  ['uuid', UUID],
  ['date', /^\d{4}-\d\d-\d\d$/],
  ['instant', /^\d{4}-\d\d-\d\dT\d\d:\d\d/],
  ['url', /^https?:\/\//],
  ['sha256', /^[0-9a-f]{64}$/i],
  ['decimal text', /^-?\d+\.\d+$/],
];

export function typeSketch(value: unknown): string {
  if (Array.isArray(value)) return `[${joinedSketch(value)}]`;
  if (!isObject(value)) return nameOf(value);
  const fields = Object.entries(value).map(([name, inner]) => `${name}: ${typeSketch(inner)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

function joinedSketch(values: readonly unknown[]): string {
  const objects = values.filter(isObject);
  if (objects.length < values.length || objects.length === 0) {
    return [...new Set(values.map(typeSketch))].sort().join(' | ');
  }
  const names = [...new Set(objects.flatMap((one) => Object.keys(one)))];
  const fields = names.map((name) => {
    const there = objects.filter((one) => name in one);
    const optional = there.length < objects.length ? '?' : '';
    return `${name}${optional}: ${joinedSketch(there.map((one) => one[name]))}`;
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

export type Verdict = 'pass' | 'fail' | 'skipped';

export interface Row {
  readonly section: string;
  /** A rule's id never changes, because `--only` and scripts name it. */
  readonly id: string;
  readonly rule: string;
  readonly verdict: Verdict;
  /** What was seen; for a skipped rule, the reason. */
  readonly seen: string;
}

export interface Rule {
  readonly section: string;
  readonly id: string;
  readonly rule: string;
  /** Resolves with what was seen. @throws BrokenRuleError @throws SkippedRuleError it cannot be checked here */
  readonly check: (context: SuiteContext) => Promise<string>;
}

export function rule(section: string, id: string, text: string, check: Rule['check']): Rule {
  return { section, id, rule: text, check };
}

export class BrokenRuleError extends Error {
  override readonly name = 'BrokenRuleError';
}

export function breakRule(seen: string): never {
  throw new BrokenRuleError(seen);
}

export function requireThat(condition: boolean, seen: string): asserts condition {
  if (!condition) breakRule(seen);
}

export function requireNoComplaint(complaints: readonly string[]): void {
  if (complaints.length > 0) breakRule(complaints.join('; '));
}
