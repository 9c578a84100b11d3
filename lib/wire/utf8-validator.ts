/** Finds bytes that are not UTF-8 in a stream: DuckDB refuses such a file without a position, csv-parse replaces them. */

import { isUtf8 } from 'node:buffer';

interface Missing {
  bytes: number;
  low: number;
  high: number;
}

export interface Utf8Fault {
  /** Offset in the chunk of the wrong byte or, when a character was cut short, of what came instead of its rest. */
  readonly offset: number;
  readonly bytes: readonly number[];
}

export class Utf8Validator {
  readonly #missing: Missing = { bytes: 0, low: 0x80, high: 0xbf };
  #begun: number[] = [];

  check(chunk: Uint8Array): readonly Utf8Fault[] {
    const faults: Utf8Fault[] = [];
    const begun = this.#walk(chunk, 0, chunk.length, faults, true);
    const whole = chunk.length - cutCharacterLength(chunk, begun);
    if (isUtf8(chunk.subarray(begun, whole))) {
      this.#walk(chunk, whole, chunk.length, faults, false);
    } else {
      this.#walk(chunk, begun, chunk.length, faults, false);
    }
    return faults;
  }

  endsInsideCharacter(): boolean {
    return this.#missing.bytes > 0;
  }

  #walk(chunk: Uint8Array, from: number, to: number, faults: Utf8Fault[], untilWhole: boolean): number {
    const missing = this.#missing;
    let i = from;
    while (i < to && !(untilWhole && missing.bytes === 0)) {
      const byte = chunk[i] as number;
      if (missing.bytes > 0) {
        if (byte < missing.low || byte > missing.high) {
          faults.push({ offset: i, bytes: this.#begun });
          owe(missing, 0);
          continue; // The byte may begin a character of its own.
        }
        this.#begun.push(byte);
        owe(missing, missing.bytes - 1);
      } else if (byte >= 0x80) {
        this.#begun = [byte];
        if (!begin(missing, byte)) faults.push({ offset: i, bytes: this.#begun });
      }
      i++;
    }
    return i;
  }
}

function owe(missing: Missing, bytes: number, low = 0x80, high = 0xbf): void {
  missing.bytes = bytes;
  missing.low = low;
  missing.high = high;
}

function begin(missing: Missing, lead: number): boolean {
  if (lead < 0xc2 || lead > 0xf4) return false;
  if (lead < 0xe0) owe(missing, 1);
  // Overlong forms, surrogates and what lies above U+10FFFF are no UTF-8.
  else if (lead < 0xf0) owe(missing, 2, lead === 0xe0 ? 0xa0 : 0x80, lead === 0xed ? 0x9f : 0xbf);
  else owe(missing, 3, lead === 0xf0 ? 0x90 : 0x80, lead === 0xf4 ? 0x8f : 0xbf);
  return true;
}

function cutCharacterLength(chunk: Uint8Array, from: number): number {
  for (let length = 1; length <= 3 && chunk.length - length >= from; length++) {
    const byte = chunk[chunk.length - length] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needed > length ? length : 0;
    }
  }
  return 0;
}
