/** Writes rows of a tolerated file as `cutIntoChunks` cuts a specified one, with the added columns as a fifteenth cell. */

import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { CSV_HEADERS } from '../../lib/wire/csv-file.ts';
import { MAX_RECORD_BYTES, RECORDS_PER_CUT } from '../../lib/wire/csv-scanner.ts';

const BUFFERED_CHARACTERS = 1 << 18;

export class ChunkWriter {
  readonly #folder: string;
  readonly #recordsPerCut: number;
  #count = 0;
  #rows = 0;
  #file: number | null = null;
  #buffered = '';
  #tooBig: number | null = null;

  /** @param folder is there */
  constructor(folder: string, recordsPerCut = RECORDS_PER_CUT) {
    this.#folder = folder;
    this.#recordsPerCut = recordsPerCut;
  }

  /** Chunks that were begun. */
  get count(): number {
    return this.#count;
  }

  /** The first record that became too big for a reader, from 1; null: none did. */
  get tooBig(): number | null {
    return this.#tooBig;
  }

  /** @throws the system's error (`ENOSPC`, …) */
  write(cells: readonly string[], added: string | null): void {
    if (this.#rows % this.#recordsPerCut === 0) this.#begin();
    this.#rows += 1;
    const record = `${[...cells, added ?? ''].map(quoted).join(',')}\r\n`;
    // As JSON, control characters take six times the room.
    if (3 * record.length > MAX_RECORD_BYTES && Buffer.byteLength(record) > MAX_RECORD_BYTES) {
      this.#tooBig ??= this.#rows;
    }
    this.#buffered += record;
    if (this.#buffered.length > BUFFERED_CHARACTERS) this.#flush();
  }

  close(): void {
    if (this.#file === null) return;
    this.#flush();
    closeSync(this.#file);
    this.#file = null;
  }

  #begin(): void {
    this.close();
    this.#file = openSync(join(this.#folder, `${this.#count}.csv`), 'wx', 0o600);
    this.#count += 1;
    this.#buffered = `${[...CSV_HEADERS, 'Added Columns'].join(',')}\r\n`;
  }

  #flush(): void {
    const bytes = Buffer.from(this.#buffered);
    this.#buffered = '';
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file as number, bytes, at);
  }
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
