import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Info, parse } from 'csv-parse/sync';
import {
  CSV_HEADERS,
  type CsvForm,
  type CsvScan,
  type CsvTolerance,
  isHeaderOnly,
  readForm,
} from '../../lib/wire/csv-file.ts';
import { CsvScanner, MAX_RECORD_BYTES, RECORDS_PER_CUT } from '../../lib/wire/csv-scanner.ts';
import { type BrokenRows, findBrokenRows, type Tolerated } from './find-broken-rows.ts';

/** An invoice file to read; an `invoiceId` of null accepts any UUID. */
export interface Reading {
  readonly csvPath: string;
  readonly invoiceId: string | null;
  readonly skipsRagged: boolean;
  readonly tolerate?: {
    readonly tolerances: readonly CsvTolerance[];
    /** The folder into which the rows are written in the specified form, as chunks. */
    readonly folder: string;
    readonly recordsPerCut?: number | undefined;
  };
}

export interface Read {
  readonly broken: BrokenRows;
  readonly scan: CsvScan | null;
  readonly chunks: number;
}

export async function readNow(reading: Reading): Promise<Read> {
  const { csvPath, invoiceId, skipsRagged, tolerate } = reading;
  if (tolerate !== undefined) return readTolerantly(reading, tolerate);
  return { broken: await findBrokenRows(csvPath, invoiceId, { skipsRagged }), scan: null, chunks: 0 };
}

const NOTHING_BROKEN: BrokenRows = { findings: [], findingCount: 0, isCutOff: false, records: 0 };

async function readTolerantly(
  { csvPath, invoiceId }: Reading,
  { tolerances, folder, recordsPerCut }: NonNullable<Reading['tolerate']>,
): Promise<Read> {
  const none = { broken: NOTHING_BROKEN, chunks: 0 };
  const form = readFormOf(csvPath);
  if (form === null || !form.needs.every((need) => tolerances.includes(need))) return { ...none, scan: null };
  const takesLineFeeds = tolerances.includes('line-ends');
  const scan = scanTolerantly(csvPath, form, takesLineFeeds);
  if (scan.findingCount > 0) {
    if (isHeaderOnly(scan)) return { ...none, scan };
    const { findings, findingCount, records } = scan;
    return { ...none, scan, broken: { findings, findingCount, isCutOff: false, records } };
  }
  const tolerated: Tolerated = { form, takesLineFeeds, dropsZeros: tolerances.includes('decimals') };
  const writer = new ChunkWriter(folder, recordsPerCut);
  try {
    const onGoodRow = (cells: readonly string[], added: string | null) => writer.write(cells, added);
    const broken = await findBrokenRows(csvPath, invoiceId, { tolerated, onGoodRow });
    const all = writer.tooBig === null ? broken : tooBig(writer.tooBig, broken);
    return { broken: all, scan, chunks: writer.count };
  } finally {
    writer.close();
  }
}

function tooBig(row: number, { records }: BrokenRows): BrokenRows {
  const value = `more than ${MAX_RECORD_BYTES} bytes with its added columns as JSON`;
  const finding = { line: null, row, column: null, rule: 'record-too-big', value };
  return { findings: [finding], findingCount: 1, isCutOff: false, records };
}

const BLOCK_BYTES = 1 << 18;

function scanTolerantly(csvPath: string, { names }: CsvForm, takesLineFeeds: boolean): CsvScan {
  const scanner = new CsvScanner(undefined, { names, takesLineFeeds });
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  const file = openSync(csvPath, 'r');
  try {
    for (let length = readSync(file, buffer); length > 0; length = readSync(file, buffer)) {
      scanner.push(buffer.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
  return scanner.end();
}

/** A first line that is longer than this is no header. */
const HEADER_BYTES = 64 << 10;

/** Returns null when the form cannot be tolerated. @throws the system's error (`ENOENT`, …) */
export function readFormOf(csvPath: string): CsvForm | null {
  const { head, isWhole } = readHead(csvPath, HEADER_BYTES);
  try {
    const [first] = parse(head, {
      ...{ bom: true, info: true, to: 1, record_delimiter: ['\r\n', '\n'], max_record_size: HEADER_BYTES },
    }) as unknown as readonly { readonly record: readonly string[]; readonly info: Info }[];
    if (first === undefined || (!isWhole && first.info.bytes >= head.length)) return null;
    return readForm(first.record);
  } catch {
    return null;
  }
}

export function readHead(
  csvPath: string,
  bytes: number,
): { readonly head: Buffer; readonly isWhole: boolean } {
  const file = openSync(csvPath, 'r');
  try {
    const { size } = fstatSync(file);
    const buffer = Buffer.alloc(Math.min(bytes, size));
    return { head: buffer.subarray(0, readSync(file, buffer)), isWhole: size <= bytes };
  } finally {
    closeSync(file);
  }
}

const BUFFERED_CHARACTERS = 1 << 18;

class ChunkWriter {
  readonly #folder: string;
  readonly #recordsPerCut: number;
  count = 0;
  /** The number of the first row that is too long for DuckDB; null when none is. */
  tooBig: number | null = null;
  #rows = 0;
  #file: number | null = null;
  #buffered = '';

  constructor(folder: string, recordsPerCut = RECORDS_PER_CUT) {
    this.#folder = folder;
    this.#recordsPerCut = recordsPerCut;
  }

  write(cells: readonly string[], added: string | null): void {
    if (this.#rows % this.#recordsPerCut === 0) this.#begin();
    this.#rows += 1;
    const record = `${[...cells, added ?? ''].map(quoted).join(',')}\r\n`;
    // The bytes are counted from a third of the limit on, because an escaped record can be longer in JSON than in the file.
    if (3 * record.length > MAX_RECORD_BYTES && Buffer.byteLength(record) > MAX_RECORD_BYTES) {
      this.tooBig ??= this.#rows;
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
    this.#file = openSync(join(this.#folder, `${this.count}.csv`), 'wx', 0o600);
    this.count += 1;
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
