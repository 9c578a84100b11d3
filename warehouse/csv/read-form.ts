/** Reads which columns a file has, for one whose header is not the specified one. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Info, parse } from 'csv-parse/sync';
import { type CsvForm, readForm } from '../../lib/wire/csv-file.ts';

/** Longest header row in bytes; a longer first line is no header. */
const HEADER_BYTES = 64 << 10;

/** null when its first line is no header that could be tolerated. @throws the system's error (`ENOENT`, …) */
export function readFormOf(csvPath: string): CsvForm | null {
  const { head, isWhole } = readHead(csvPath);
  try {
    const [first] = parse(head, {
      ...{ bom: true, info: true, to: 1, record_delimiter: ['\r\n', '\n'], max_record_size: HEADER_BYTES },
    }) as unknown as readonly { readonly record: readonly string[]; readonly info: Info }[];
    if (first === undefined || (!isWhole && first.info.bytes >= head.length)) return null;
    return readForm(first.record);
  } catch {
    // The byte scan reports what cannot be read.
    return null;
  }
}

function readHead(csvPath: string): { readonly head: Buffer; readonly isWhole: boolean } {
  const file = openSync(csvPath, 'r');
  try {
    const buffer = Buffer.alloc(HEADER_BYTES);
    const length = readSync(file, buffer, 0, HEADER_BYTES, 0);
    return { head: buffer.subarray(0, length), isWhole: fstatSync(file).size <= length };
  } finally {
    closeSync(file);
  }
}
