/**
 * Money and weights are counted in whole ten-thousandths and written as decimal text: the invoice total has to
 * equal the sum of its rows to the last digit (spec 2.6, 2.8).
 */

/** Text with at least two and at most four decimals: 123400n is `12.34`, 5n is `0.0005`. */
export function moneyText(tenThousandths: bigint): string {
  const negative = tenThousandths < 0n;
  const digits = (negative ? -tenThousandths : tenThousandths).toString().padStart(5, '0');
  const fraction = digits.slice(-4).replace(/0{1,2}$/, '');
  return `${negative ? '-' : ''}${digits.slice(0, -4)}.${fraction}`;
}

/** Reads decimal text of at most four decimals. @throws RangeError for anything else. */
export function parseMoney(text: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,4}))?$/.exec(text);
  if (match === null) throw new RangeError(`"${text}" is not an amount with at most four decimals.`);
  const value = BigInt(`${match[2]}${(match[3] ?? '').padEnd(4, '0')}`);
  return match[1] === '-' ? -value : value;
}

/**
 * Writes a whole count of ten-thousandths with exactly `decimals` places; the count must end in zeros beyond
 * them. Counts of single shipments are small whole numbers, so a plain number is exact and quick here.
 */
export function fixedText(tenThousandths: number, decimals: 0 | 1 | 2 | 3 | 4): string {
  const sign = tenThousandths < 0 ? '-' : '';
  const count = Math.abs(tenThousandths);
  const whole = Math.floor(count / 10_000);
  if (decimals === 0) return `${sign}${whole}`;
  const fraction = String(count - whole * 10_000).padStart(4, '0');
  return `${sign}${whole}.${fraction.slice(0, decimals)}`;
}

// JSON with amounts written digit by digit, by the engine's own writer: numbers that must stay exact pass through it as marked text.
const MARK = '\u0000';
const OPENING = '"\\u0000';
const CLOSING = '\\u0000"';
const DIGITS = /^-?\d+(?:\.\d+)?$/;

/** A number that JSON shows with exactly these digits: `12.30` stays `12.30`. */
export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  /** Not a replacer's work: the engine would call that for every field there is. */
  toJSON(): string {
    return `${MARK}${this.digits}${MARK}`;
  }
}

/** As JSON.stringify for an object, except that an ExactNumber keeps its digits. */
export function exactJson(value: object): string {
  const text = JSON.stringify(value);
  let exact = '';
  let read = 0;
  for (let at = text.indexOf(OPENING); at >= 0; at = text.indexOf(OPENING, at + 1)) {
    const end = text.indexOf(CLOSING, at + OPENING.length);
    const digits = text.slice(at + OPENING.length, end);
    if (!DIGITS.test(digits) || text.charAt(at - 1) === '\\') continue;
    exact += text.slice(read, at) + digits;
    read = end + CLOSING.length;
  }
  return exact + text.slice(read);
}
