/** The order that all reports share (docs/report-rules.md, "Order, likeness and empty cells"), for rows that are made of reports. */

import type { ReportCell, ReportRow } from '../report-result.ts';

/** Texts by their characters, none last. */
export function byText(one: ReportCell | undefined, other: ReportCell | undefined): number {
  const [left, right] = [one ?? null, other ?? null];
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return String(left) < String(right) ? -1 : Number(String(left) > String(right));
}

/** What begins with a number by its size (`5`, `17.5`, `3 to 5 lb`, `over 150 lb`), then others by their characters, none last. */
export function bySize(one: ReportCell | undefined, other: ReportCell | undefined): number {
  const [left, right] = [sizeOf(one), sizeOf(other)];
  if (left === right) return byText(one, other);
  return left < right ? -1 : 1;
}

/** A partner's rows follow one another, and in them those of a currency. */
export function byPartnerAndCurrency(one: ReportRow, other: ReportRow): number {
  return byText(one.partner_id, other.partner_id) || byText(one.currency_code, other.currency_code);
}

function sizeOf(cell: ReportCell | undefined): number {
  const number = /^(?:over )?(\d+(?:\.\d+)?)(?:$| lb$| to )/.exec(String(cell ?? ''))?.[1];
  return number === undefined ? Number.POSITIVE_INFINITY : Number(number);
}
