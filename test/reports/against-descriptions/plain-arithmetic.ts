/** Sums, quotients and groups in whole numbers, for tests that compute a report anew without SQL. */

import {
  decimalText,
  type FixtureShipment,
  roundedQuotient,
  tenThousandths,
} from '../../support/reports-fixture.ts';

export type PlainLine = FixtureShipment & { readonly invoiceId: string };

/** In ten-thousandths. */
export function costOf(lines: readonly FixtureShipment[]): bigint {
  return lines.reduce((sum, line) => sum + tenThousandths(line.cost), 0n);
}

export function percent(part: bigint, whole: bigint): string | null {
  return whole <= 0n ? null : hundredthsText(roundedQuotient(part * 10_000n, whole));
}

export function hundredthsText(hundredths: bigint): string {
  const digits = String(hundredths < 0n ? -hundredths : hundredths).padStart(3, '0');
  return `${hundredths < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** "Zone 5", "05" and "5" are 5; written anew here, without regard to the SQL. */
export function plainZone(zone: string | null): string | null {
  if (zone === null) return null;
  const digits = zone.toLowerCase().replace('zone', '').replace('-', '').trim();
  return /^\d+$/.test(digits) ? String(Number(digits)) : zone.toUpperCase();
}

export function grouped<T>(members: readonly T[], of: (member: T) => readonly unknown[]): [unknown[], T[]][] {
  const groups = Map.groupBy(members, (member) => JSON.stringify(of(member)));
  return [...groups].map(([key, group]) => [JSON.parse(key) as unknown[], group]);
}

export function packagesOf(lines: readonly FixtureShipment[]): number {
  return new Set(lines.map((line) => JSON.stringify([line.carrier, line.tracking]))).size;
}

/** The billed weight, rounded up to a whole pound; of pounds that were not rounded before. */
export function ratedPounds(line: FixtureShipment): number | null {
  if (line.weight === null) return null;
  const pound = line.unit === 'KG' ? 100_000_000_000_000n : 10_000n;
  const weight = tenThousandths(line.weight) * (line.unit === 'KG' ? 22_046_226_218n : 1n);
  return Number((weight + pound - 1n) / pound);
}

/** Twice the median of whole numbers, so that it is whole as well. */
export function doubleMedian(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((one, other) => (one < other ? -1 : one > other ? 1 : 0));
  return (sorted[(sorted.length - 1) >> 1] ?? 0n) + (sorted[sorted.length >> 1] ?? 0n);
}

/** The mean of the two middle amounts, four decimals, in ten-thousandths. */
/** Amount by number in ten-thousandths, as text. */
export function each(amount: bigint, count: number): string {
  return decimalText(roundedQuotient(amount, BigInt(count)));
}

/** Days since 1970. */
export function dayOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / 86_400_000;
}
