/**
 * JSON with amounts written digit by digit. The engine's own writer does the work, since a burst of events and details
 * of many rows are mostly this; numbers that have to stay as they are pass through it as marked text.
 */

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
