/**
 * JSON with amounts written digit by digit. The engine's own writer does the work, since a burst of events and details
 * of many rows are mostly this; numbers that have to stay as they are pass through it as marked text.
 */

const MARK = '\u0000';
const MARKED = /"\\u0000(-?\d+(?:\.\d+)?)\\u0000"/g;

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
  return JSON.stringify(value).replaceAll(MARKED, '$1');
}
