/** Whole ten-thousandths: the invoice total has to equal the sum of its rows exactly (spec 2.6, 2.8). */

/** The text has at least two and at most four decimals: 123400n is `12.34`, 5n is `0.0005`. */
export function moneyText(tenThousandths: bigint): string {
  const negative = tenThousandths < 0n;
  const digits = (negative ? -tenThousandths : tenThousandths).toString().padStart(5, '0');
  const fraction = digits.slice(-4).replace(/0{1,2}$/, '');
  return `${negative ? '-' : ''}${digits.slice(0, -4)}.${fraction}`;
}

/** @throws RangeError for anything but decimal text of at most four decimals */
export function parseMoney(text: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,4}))?$/.exec(text);
  if (match === null) throw new RangeError(`"${text}" is not an amount with at most four decimals.`);
  const value = BigInt(`${match[2]}${(match[3] ?? '').padEnd(4, '0')}`);
  return match[1] === '-' ? -value : value;
}

/** The count must have zeros beyond `decimals` places. Exact up to 2^53. */
export function fixedText(tenThousandths: number, decimals: 1 | 2 | 4): string {
  const sign = tenThousandths < 0 ? '-' : '';
  const count = Math.abs(tenThousandths);
  const whole = Math.floor(count / 10_000);
  const fraction = String(count - whole * 10_000).padStart(4, '0');
  return `${sign}${whole}.${fraction.slice(0, decimals)}`;
}

/** A number that keeps its digits in JSON: `12.30` stays `12.30`. */
export interface ExactNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    /** Part of Node, not yet of TypeScript's library. */
    rawJSON(text: string): ExactNumber;
  }
}

export function exactNumber(digits: string): ExactNumber {
  return JSON.rawJSON(digits);
}
