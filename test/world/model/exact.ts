/** Exact arithmetic: amounts and weights are whole ten-thousandths. */

export const compareText = (one: string, other: string): number => {
  // By code points: UTF-16 would order characters outside the basic plane before some inside it.
  const [a, b] = [Array.from(one), Array.from(other)];
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    const difference = (a[at]?.codePointAt(0) ?? 0) - (b[at]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
};

/** @returns null: not a decimal @param places digits behind the point that are kept, the rest rounded half away from zero */
export function parse(text: string, places = 4): bigint | null {
  const found = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (found === null) return null;
  const fraction = (found[3] ?? '').padEnd(places, '0');
  const size =
    BigInt(`${found[2]}${fraction.slice(0, places)}`) + (Number(fraction[places] ?? '0') >= 5 ? 1n : 0n);
  return found[1] === '-' ? -size : size;
}

export function parsed(text: string): bigint {
  const size = parse(text);
  if (size === null) throw new RangeError(`${text} is no decimal.`);
  return size;
}

function textOf(size: bigint, places: number): string {
  const digits = String(size < 0n ? -size : size).padStart(places + 1, '0');
  return `${size < 0n ? '-' : ''}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

export const money = (size: bigint): string => textOf(size, 4);
export const hundredths = (size: bigint): string => textOf(size, 2);
export const millionths = (size: bigint): string => textOf(size, 6);

/** To the nearest whole number, halves away from zero. */
export function quotient(n: bigint, d: bigint): bigint {
  const [a, b] = [n < 0n ? -n : n, d < 0n ? -d : d];
  const size = (2n * a + b) / (2n * b);
  return n < 0n !== d < 0n ? -size : size;
}

/** null unless the whole is above zero. */
export function percent(part: bigint | number, whole: bigint | number): string | null {
  return whole > 0 ? hundredths(quotient(BigInt(part) * 10_000n, BigInt(whole))) : null;
}

export function sum(list: Iterable<bigint>): bigint {
  let total = 0n;
  for (const one of list) total += one;
  return total;
}

export const compareSizes = (one: bigint, other: bigint): number => (one < other ? -1 : one > other ? 1 : 0);
export const absolute = (size: bigint): bigint => (size < 0n ? -size : size);
export const largest = (list: readonly bigint[]): bigint =>
  list.reduce((one, other) => (other > one ? other : one));
export const least = (list: readonly bigint[]): bigint =>
  list.reduce((one, other) => (other < one ? other : one));

/** Twice the median, which is whole. */
export function doubleMedian(list: readonly bigint[]): bigint {
  const sorted = [...list].sort(compareSizes);
  return (sorted[(sorted.length - 1) >> 1] ?? 0n) + (sorted[sorted.length >> 1] ?? 0n);
}

export const median = (list: readonly bigint[]): bigint => quotient(doubleMedian(list), 2n);

/** The smallest value that at least so many tenths of the values do not exceed. */
export function decile(list: readonly bigint[], tenths: number): bigint {
  const sorted = [...list].sort(compareSizes);
  return sorted[Math.max(0, Math.ceil((sorted.length * tenths) / 10) - 1)] ?? 0n;
}

export function groups<T>(members: Iterable<T>, of: (member: T) => readonly unknown[]): T[][] {
  return [
    ...Map.groupBy(members, (member) =>
      JSON.stringify(of(member), (_, value) =>
        typeof value === 'bigint' ? `${value}n` : (value as unknown),
      ),
    ).values(),
  ];
}

const DAY_MS = 86_400_000;

/** Days since 1970. */
export function dayNumber(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MS;
}

export function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().replace(/^\+0+/, '').split('T')[0] ?? '';
}

/** Months since the year 0. */
export function monthNumber(date: string): number {
  return Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7)) - 1;
}

export function monthOf(month: number): string {
  return `${String(Math.floor(month / 12)).padStart(4, '0')}-${String((month % 12) + 1).padStart(2, '0')}`;
}

/** The last day of the month that a date is in. */
export function lastDayOf(date: string): string {
  // The 28th and four days are in the next month, whose first day is as many days later as it is.
  const inNext = dayNumber(`${date.slice(0, 7)}-28`) + 4;
  return dateOf(inNext - Number(dateOf(inNext).slice(-2)));
}

/** The Monday of the week. */
export function mondayOf(date: string): number {
  const day = dayNumber(date);
  return day - ((((day + 3) % 7) + 7) % 7);
}

/** ISO 8601: the Thursday of a week decides its year. */
export function weekName(monday: number): string {
  const thursday = dateOf(monday + 3);
  const first = dayNumber(`${thursday.slice(0, 4)}-01-01`);
  return `${thursday.slice(0, 4)}-W${String(Math.floor((monday + 3 - first) / 7) + 1).padStart(2, '0')}`;
}

/** A sum of fractions, rounded once. @param terms pairs of numerator and denominator */
export function sumRounded(terms: readonly (readonly [bigint, bigint])[]): bigint {
  let [n, d] = [0n, 1n];
  for (const [a, b] of terms) {
    [n, d] = [n * b + a * d, d * b];
    const shared = divisor(n < 0n ? -n : n, d);
    if (shared > 1n) [n, d] = [n / shared, d / shared];
  }
  return quotient(n, d);
}

function divisor(one: bigint, other: bigint): bigint {
  let [a, b] = [one, other];
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}
