/** Rows of an answer, and the columns and rules that many reports share. */

import {
  compareSizes,
  compareText,
  dateOf,
  groups,
  hundredths,
  mondayOf,
  money,
  parsed,
  percent,
  quotient,
  sum,
  weekName,
} from './exact.ts';
import type { Line, View } from './view.ts';

/** Decimals, dates and instants are text, counts are numbers. */
export type Cells = Readonly<Record<string, string | number | boolean | null>>;

/** The documented order as values to compare, the first one first; null comes last; what is to descend is negated. */
export type Key = readonly (string | number | bigint | null)[];

export interface AnswerRow {
  readonly cells: Cells;
  readonly order: Key;
}

export type Parameters = Readonly<Record<string, string>>;
/** The rows of one partner, in any order. */
export type Report = (view: View, parameters: Parameters, files: Files) => readonly AnswerRow[];

/** Lines of one's own files, by table. */
export type Files = Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>;

export function compareKeys(one: Key, other: Key): number {
  for (const [at, a] of one.entries()) {
    const b = other[at] ?? null;
    const difference = compareValues(a, b);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareValues(a: string | number | bigint | null, b: string | number | bigint | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === 'bigint' && typeof b === 'bigint') return compareSizes(a, b);
  return typeof a === 'number' && typeof b === 'number' ? a - b : compareText(String(a), String(b));
}

export const costOf = (lines: readonly Pick<Line, 'cost'>[]): bigint => sum(lines.map(({ cost }) => cost));
export const creditsOf = (lines: readonly Line[]): bigint => costOf(lines.filter(({ cost }) => cost < 0n));
export const packagesOf = (lines: readonly Line[]): number =>
  new Set(lines.map(({ carrier, tracking }) => JSON.stringify([carrier, tracking]))).size;
export const invoicesOf = (lines: readonly Line[]): number =>
  new Set(lines.map(({ invoice }) => invoice.id)).size;
export const per = (amount: bigint, count: number | bigint): string | null =>
  BigInt(count) === 0n ? null : money(quotient(amount, BigInt(count)));

/** Of what was charged, the part that was credited. */
export function creditedOf(lines: readonly Line[]): string | null {
  const credits = creditsOf(lines);
  return percent(-credits, costOf(lines) - credits);
}

/** In 10^-14 lb, in which pounds and kilograms are whole; null: no weight. */
export function exactPounds({ weight, unit }: Pick<Line, 'weight' | 'unit'>): bigint | null {
  if (weight === null || unit === null) return null;
  return weight * (unit === 'KG' ? 22_046_226_218n : 10_000_000_000n);
}

export const POUND = 100_000_000_000_000n;

/** The billed weight, rounded up to a whole pound. */
export function ratedPounds(line: Line): number | null {
  const exact = exactPounds(line);
  return exact === null ? null : Number((exact + POUND - 1n) / POUND);
}

/** A weight as a carrier rates it. */
export interface Rated {
  /** In 10^-14 lb. */
  readonly exact: bigint;
  readonly lb: string | number;
  readonly weight: string;
  readonly unit: string;
}

/** Ten-thousandths of each unit, in 10^-14 lb. */
export const SIZES: Readonly<Record<string, bigint>> = {
  ...{ lb: 10_000_000_000n, kg: 22_046_226_218n, oz: 625_000_000n },
};

/** In whole pounds, or in the steps that a file of weights names for the carrier, else for all others. */
export function ratedAs(line: Line, carrier = line.carrier): Rated | null {
  const exact = exactPounds(line);
  if (exact === null) return null;
  const pounds = ratedPounds(line) ?? 0;
  const whole: Rated = { exact: BigInt(pounds) * POUND, lb: pounds, weight: `${pounds}.0000`, unit: 'lb' };
  if (line.steps === undefined) return whole;
  const named = line.steps.filter((row) => row.carrier?.toLowerCase() === carrier.toLowerCase());
  const bands = (named.length > 0 ? named : line.steps.filter((row) => row.carrier === ''))
    .map(({ unit: written = '', step = '', up_to: upTo = '' }) => {
      const unit = written.toLowerCase();
      const size = SIZES[unit] ?? 0n;
      return { unit, step: parsed(step), size, until: upTo === '' ? null : parsed(upTo) * size };
    })
    .sort((one, other) => compareKeys([one.until], [other.until]));
  const band = bands.find(({ until }) => until === null || exact <= until);
  if (band === undefined) return { ...whole, lb: `${pounds}.0000` };
  const { unit, step, size } = band;
  const steps = (exact + step * size - 1n) / (step * size);
  const rated = steps * step * size;
  return { exact: rated, lb: money(quotient(rated, 10_000_000_000n)), weight: money(steps * step), unit };
}

/** What lines have in common whose weights are rated alike. */
export function ratedKey(line: Line, carrier?: string): readonly unknown[] {
  const rated = ratedAs(line, carrier);
  return [String(rated?.exact ?? null), rated?.weight, rated?.unit];
}

export function costColumns(lines: readonly Line[]): Cells {
  const weighed = lines.filter(({ weight }) => weight !== null);
  const exact = sum(weighed.map((line) => exactPounds(line) ?? 0n));
  const packages = packagesOf(lines);
  return {
    ...{ invoices: invoicesOf(lines), shipments: lines.length, billing_cost: money(costOf(lines)) },
    cost_per_shipment: per(costOf(lines), packages),
    billable_weight_lb: weighed.length === 0 ? null : money(quotient(exact, 10_000_000_000n)),
    cost_per_lb: exact === 0n ? null : money(quotient(costOf(lines) * POUND, exact)),
    packages,
  };
}

/** "Zone 5", "ZONE-05" and "5" are 5; see "Zones" of the rules. */
export function plainZone(zone: string | null): string | null {
  if (zone === null) return null;
  const text = zone.replace(/^ +| +$/g, '');
  const whole = /^(?:zone)?[\s_#:.-]*0*(\d+)$/i.exec(text);
  if (whole !== null) return String(BigInt(whole[1] ?? '0'));
  return (/^zone[\s_#:.-]+([^\s_#:.-][\s\S]*)$/i.exec(text)?.[1] ?? text).toUpperCase();
}

/** A zone that is a number, in ten-thousandths; null: a name. */
export function zoneNumber(zone: string | null): bigint | null {
  const found = zone === null ? null : /^(\d{1,9})(?:\.(\d{1,4}))?$/.exec(zone);
  return found === null ? null : BigInt(`${found[1]}${(found[2] ?? '').padEnd(4, '0')}`);
}

export const zoneOrder = (zone: string | null): Key => [zoneNumber(zone), zone];

/** Capital letters, single blanks, none at the ends. */
export function plainOrigin(origin: string | null): string | null {
  return origin === null
    ? null
    : origin
        .replace(/[\s\p{Z}]+/gu, ' ')
        .trim()
        .toUpperCase();
}

export const month = (date: string): string => date.slice(0, 7);

export function periodOf(
  date: string,
  grain: string | undefined,
): { readonly start: string; readonly name: string } {
  const monday = mondayOf(date);
  return grain === 'week'
    ? { start: dateOf(monday), name: weekName(monday) }
    : { start: `${month(date)}-01`, name: month(date) };
}

export const isCharge = ({ cost }: Line): boolean => cost > 0n;
/** A line whose price can be compared. */
export const hasCell = (line: Line): boolean =>
  isCharge(line) && line.service !== null && line.zone !== null && line.weight !== null;
export const cellOf = (line: Line): readonly unknown[] => [
  line.carrier,
  line.service,
  plainZone(line.zone),
  ...ratedKey(line),
  line.currency,
];

/** Groups with their first line, which has what they are grouped by. */
export function grouped(
  lines: readonly Line[],
  of: (line: Line) => readonly unknown[],
): { readonly first: Line; readonly lines: Line[] }[] {
  return groups(lines, of).flatMap((group) =>
    group[0] === undefined ? [] : [{ first: group[0], lines: group }],
  );
}

/** Each value once, in order. */
export function listOf(texts: readonly (string | null)[]): string {
  return [...new Set(texts.filter((text) => text !== null))].sort(compareText).join(', ');
}

export { hundredths };
