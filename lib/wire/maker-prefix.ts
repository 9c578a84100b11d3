/** Finds the two id fields, which the wire spells with its maker's prefix and the specification without (spec 2.6). */

import { Contradiction } from './contradiction.ts';

/** The payload's own id fields by their neutral names; undefined when the payload has no such key. */
export interface SpelledIds {
  readonly invoiceId: unknown;
  readonly tenantId: unknown;
}

export type IdReading =
  | { readonly ok: true; readonly ids: SpelledIds }
  /** Spellings of the invoice's id that contradict each other: which invoice it is must not be guessed. */
  | { readonly ok: false; readonly problem: string };

const NEUTRAL = 'service';
/** `partnerInvoiceId` and `partnerTenantId` are the partner's own references, another pair of fields altogether. */
const PARTNER = 'partner';
/** Words that say how another invoice belongs to this one, such as `parentInvoiceId`. */
const RELATED =
  /^(parent|child|root|original|previous|prior|next|related|linked|source|target|master|sub|credit|credited|corrected|correction|replaced|replacement|superseded|external|internal|merged|split)$/i;
const PREFIXED = /^([A-Za-z][A-Za-z0-9]*)(InvoiceId|TenantId)$/;

/**
 * Reads `serviceInvoiceId`/`serviceTenantId` and `<maker>InvoiceId`/`<maker>TenantId`.
 *
 * With `auto` any prefix is the maker's. When several could be, the one that spells both fields is: an added
 * field such as `originalInvoiceId` comes alone. What remains must agree.
 */
export function readIds(payload: Readonly<Record<string, unknown>>, wirePrefix: string): IdReading {
  const prefixes = wirePrefix === 'auto' ? makersOf(payload) : [wirePrefix];
  const spellings = [...new Set([NEUTRAL, ...prefixes])];
  const invoiceIds = stated(payload, spellings, 'InvoiceId');
  const tenantIds = stated(payload, spellings, 'TenantId');
  if (disagree(invoiceIds)) {
    const keys = invoiceIds.map(({ key }) => key).join(' and ');
    return {
      ok: false,
      problem: `${keys} contradict each other; BILLSYNC_WIRE_PREFIX says which one counts`,
    };
  }
  const tenantId = disagree(tenantIds)
    ? new Contradiction(tenantIds.map(({ value }) => value))
    : tenantIds[0]?.value;
  return { ok: true, ids: { invoiceId: invoiceIds[0]?.value, tenantId } };
}

function makersOf(payload: Readonly<Record<string, unknown>>): readonly string[] {
  const fieldsOf = new Map<string, number>();
  for (const key of Object.keys(payload)) {
    const prefix = PREFIXED.exec(key)?.[1];
    if (prefix === undefined || prefix === NEUTRAL || prefix === PARTNER || RELATED.test(prefix)) continue;
    fieldsOf.set(prefix, (fieldsOf.get(prefix) ?? 0) + 1);
  }
  const makers = [...fieldsOf.keys()];
  const complete = makers.filter((prefix) => fieldsOf.get(prefix) === 2);
  const likely = complete.length > 0 ? complete : makers.filter((prefix) => `${prefix}InvoiceId` in payload);
  // An added pair that is null names no invoice; the maker's does.
  const telling = likely.filter((prefix) => (payload[`${prefix}InvoiceId`] ?? null) !== null);
  return telling.length > 0 ? telling : likely;
}

interface Spelling {
  readonly key: string;
  readonly value: unknown;
}

function stated(
  payload: Readonly<Record<string, unknown>>,
  prefixes: readonly string[],
  field: string,
): readonly Spelling[] {
  return prefixes
    .map((prefix) => `${prefix}${field}`)
    .filter((key) => Object.hasOwn(payload, key))
    .map((key) => ({ key, value: payload[key] }));
}

function disagree(spellings: readonly Spelling[]): boolean {
  return spellings.some(({ value }) => value !== spellings[0]?.value);
}
