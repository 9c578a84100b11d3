/**
 * JSON with amounts written digit by digit. The engine's own writer does the work, since a burst of events and details
 * of many rows are mostly this; numbers that have to stay as they are pass through it as marked text.
 */
import { LosslessNumber } from 'lossless-json';

const MARK = '\u0000';
const MARKED = /"\\u0000(-?\d+(?:\.\d+)?)\\u0000"/g;

/** As JSON.stringify for an object, except that a LosslessNumber keeps its digits: `12.30` stays `12.30`. */
export function exactJson(value: object): string {
  return JSON.stringify(value, mark).replaceAll(MARKED, '$1');
}

function mark(_key: string, value: unknown): unknown {
  return value instanceof LosslessNumber ? `${MARK}${value.value}${MARK}` : value;
}
