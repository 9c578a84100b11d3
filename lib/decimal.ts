/** Exact decimals as text and as bigint, because money must never pass through a float (hazard 36). */

import { beginningOf } from './text.ts';

export const MONEY_SCALE = 4;

/** A number with more digits is an attack on memory (`1e999999999`). */
const MAX_DIGITS = 64;

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,6}))?$/;

/**
 * Returns the number without an exponent: `1.50` stays `1.50`, `1.5e-3` becomes `0.0015`. @throws RangeError no JSON number, or
 * more than 64 digits
 */
export function plainDecimal(text: string): string {
  const match = NUMBER.exec(text);
  if (match === null) throw new RangeError(`${clipped(text)} is not a decimal number.`);
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match;
  const exponent = Number(exponentText);
  if (whole.length + fraction.length + Math.abs(exponent) > MAX_DIGITS) {
    throw new RangeError(`${clipped(text)} has more than ${MAX_DIGITS} digits.`);
  }
  if (exponent === 0) return sign + trimLeadingZeros(whole) + (fraction === '' ? '' : `.${fraction}`);
  const digits = exponent < 0 ? whole.padStart(1 - exponent, '0') : whole;
  const point = digits.length + exponent;
  const all = (digits + fraction).padEnd(point, '0');
  const left = trimLeadingZeros(all.slice(0, point));
  const right = all.slice(point);
  return sign + left + (right === '' ? '' : `.${right}`);
}

/** @throws RangeError not a number, or more than four decimals: amounts are refused, never rounded */
export function toTenThousandths(text: string): bigint {
  const { digits, scale } = scaled(text);
  if (scale <= MONEY_SCALE) return digits * 10n ** BigInt(MONEY_SCALE - scale);
  throw new RangeError(`${clipped(text)} has more than ${MONEY_SCALE} decimals.`);
}

/** Drops zeros beyond the fourth decimal: `1.500000` becomes `1.5000`; any other text stays as it is. */
export function dropIdleZeros(text: string): string {
  return IDLE_ZEROS.test(text)
    ? text.replace(/0+$/, '').padEnd(text.indexOf('.') + 1 + MONEY_SCALE, '0')
    : text;
}

const IDLE_ZEROS = /^-?[0-9]+\.[0-9]{4}0+$/;

export function fromTenThousandths(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(MONEY_SCALE + 1, '0');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -MONEY_SCALE)}.${digits.slice(-MONEY_SCALE)}`;
}

/** The sum always has four decimals. @throws RangeError an amount needs more decimals, or is no number */
export function sumOfAmounts(amounts: readonly string[]): string {
  return fromTenThousandths(amounts.reduce((sum, amount) => sum + toTenThousandths(amount), 0n));
}

/** Divides and rounds once, half away from zero. @param by above zero */
export function dividedHalfAway(amount: bigint, by: bigint): bigint {
  const size = amount < 0n ? -amount : amount;
  const rounded = (2n * size + by) / (2n * by);
  return amount < 0n ? -rounded : rounded;
}

/** Compares the values, whatever their scale: `1.5` and `1.5000` are equal. */
export function compareDecimals(left: string, right: string): -1 | 0 | 1 {
  const [one, other] = [scaled(left), scaled(right)];
  const scale = Math.max(one.scale, other.scale);
  const a = one.digits * 10n ** BigInt(scale - one.scale);
  const b = other.digits * 10n ** BigInt(scale - other.scale);
  return a < b ? -1 : a > b ? 1 : 0;
}

function scaled(text: string): { readonly digits: bigint; readonly scale: number } {
  const plain = plainDecimal(text);
  const [whole = '', fraction = ''] = plain.split('.');
  const significant = fraction.replace(/0+$/, '');
  return { digits: BigInt(whole + significant), scale: significant.length };
}

function trimLeadingZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '') || '0';
}

function clipped(text: string): string {
  return text.length <= 40 ? `'${text}'` : `'${beginningOf(text, 40)}…'`;
}
