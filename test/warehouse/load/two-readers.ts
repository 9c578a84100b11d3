/**
 * Confronts our two ways of reading a file on generated ones: scan and DuckDB against csv-parse alone. They must agree
 * on the verdict, on the findings, and on every cell of what is good, which is read whole and cut into chunks.
 */

import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { temporaryName } from '../../../lib/files/files.ts';
import {
  type ArchivedFile,
  CSV_HEADERS,
  CSV_TOLERANCES,
  type CsvScan,
  STORED_COLUMNS,
} from '../../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../../lib/wire/csv-scanner.ts';
import { isCurrency } from '../../../warehouse/csv/cell-rules.ts';
import { findBrokenRows } from '../../../warehouse/csv/find-broken-rows.ts';
import { Database } from '../../../warehouse/duckdb/database.ts';
import { sql } from '../../../warehouse/duckdb/sql.ts';
import type { Row } from '../../../warehouse/duckdb/statements.ts';
import { type Chunks, cutIntoChunks, numberChunks, tolerate } from '../../../warehouse/load/chunks.ts';
import { makeMemoryFolder } from '../../support/folders.ts';
import { anyCsvFile, INVOICE } from './any-csv-file.ts';
import { type ReferenceVerdict, readReference } from './reference-reader.ts';

const AT_ONCE = 64;
/** Each text behind a mark, since node-api drops a byte order mark that a text begins with; DuckDB holds it. */
const MARKED_CELLS = `
    select chunk, row_is_good, '|' || columns(* exclude (chunk, row_is_good))::varchar
    from checked_csv(
        [$folder || '/' || number || '.csv' for number in range($files::integer)], $invoice_id)`;
/** Files are small here, so they are cut more often than real ones. */
const RECORDS_PER_CUT = 2;
/** As the load of a tolerated file cuts it; those here have one chunk each. */
const RECORDS_PER_TOLERATED = 122_880;

const STATEMENTS: Readonly<Record<string, string>> = {
  'marked-cells': MARKED_CELLS,
  'marked-chunks': `
    select row_number, '|' || columns(* exclude (load_id, row_number))::varchar
    from numbered_chunks(1, $folder, $chunks::integer, $invoice_id, specified_columns())
    order by row_number`,
  'marked-tolerated': `
    select row_number, '|' || columns(* exclude (load_id, row_number, added_columns))::varchar
    from numbered_chunks(1, $folder, $chunks::integer, $invoice_id, tolerated_columns())
    order by row_number`,
};

export interface Confrontation {
  readonly files: number;
  readonly good: number;
  readonly refused: number;
  readonly disagreements: readonly { readonly why: string; readonly bytes: Buffer }[];
}

export async function confront(options: {
  readonly files: number;
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}): Promise<Confrontation> {
  const readers = await openReaders();
  const disagreements: { why: string; bytes: Buffer }[] = [];
  let [good, done] = [0, 0];
  const all = fc.sample(anyCsvFile(), { numRuns: options.files, seed: options.seed });
  for (let first = 0; first < all.length; first += AT_ONCE) {
    const some = all.slice(first, first + AT_ONCE);
    for (const [index, { why, isGood }] of (await readers.compare(some)).entries()) {
      if (isGood) good += 1;
      if (why !== null) disagreements.push({ why, bytes: some[index] ?? Buffer.of() });
      done += 1;
    }
    options.onProgress?.(done);
  }
  await readers.close();
  return { files: done, good, refused: done - good, disagreements };
}

/** `why` is null when both readers agree. */
export interface Verdict {
  readonly why: string | null;
  readonly isGood: boolean;
}

/** Rows in two forms. */
export interface Forms {
  readonly specified: Buffer;
  readonly other: Buffer;
}

/** Each queries DuckDB for all files at once, since a query takes longer than reading a small file. */
export interface Readers {
  compare(files: readonly Buffer[]): Promise<readonly Verdict[]>;
  /** Whether a file of another form comes to the same rows under all tolerances, or is refused as the specified one is. */
  compareForms(files: readonly Forms[]): Promise<readonly Verdict[]>;
  close(): Promise<void>;
}

export async function openReaders(): Promise<Readers> {
  const folder = await makeMemoryFolder('billsync-readers-');
  const database = await Database.open({
    path: join(folder, 'x.duckdb'),
    folders: [folder],
    temporaryFolder: folder,
    memoryLimit: null,
    statements: (name) => STATEMENTS[name] ?? sql(name),
  });
  return {
    compare: (files) => together(files, (some) => compareAll(database, some)),
    compareForms: (files) => together(files, (some) => compareAllForms(database, some)),
    async close() {
      database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function together<File>(
  files: readonly File[],
  compare: (files: readonly File[]) => Promise<readonly Verdict[]>,
): Promise<readonly Verdict[]> {
  if (files.length <= 1) return compare(files);
  const found = await compare(files).catch((error: unknown) =>
    files.map(() => ({ why: String(error), isGood: false })),
  );
  const verdicts: Verdict[] = [];
  for (const [index, verdict] of found.entries()) {
    if (verdict.why === null) verdicts.push(verdict);
    else verdicts.push(...(await compare(files.slice(index, index + 1))));
  }
  return verdicts;
}

async function compareAll(database: Database, files: readonly Buffer[]): Promise<readonly Verdict[]> {
  const checked = files.map((bytes) => {
    const reference = readReference(bytes, INVOICE);
    return { bytes, reference, isGood: reference.isGood, scan: scanOf(bytes) };
  });
  const passed = checked.filter(({ scan }) => scan.findingCount === 0);
  const bodies = passed.map(({ bytes }) => bytes);
  const whys = await withFiles(database, bodies, async (folder) => {
    const rows = await readCells(database, folder, passed.length);
    const found: (string | null)[] = [];
    const cut: FileToCut[] = [];
    for (const [number, { reference, isGood, scan, bytes }] of passed.entries()) {
      const path = join(folder, `${number}.csv`);
      const why = await whyUnlike(rows[number] ?? [], { path, reference, records: scan.records });
      if (why === null && isGood) cut.push({ number, path, file: { sizeBytes: bytes.length, scan } });
      found.push(why);
    }
    for (const number of await cutOtherwise(database, cut, rows)) {
      found[number] = 'cut into chunks it has other rows';
    }
    return found;
  });
  return checked.map((file) => {
    const { reference, isGood, scan } = file;
    if (scan.findingCount === 0) return { isGood, why: whys[passed.indexOf(file)] ?? null };
    const rules = scan.findings.map(({ rule }) => rule).join(', ');
    const agrees = !reference.isGood && reference.cells.length === 0;
    return { isGood, why: agrees ? null : `the scan refuses (${rules}), csv-parse does not` };
  });
}

interface FileToCut {
  readonly number: number;
  readonly path: string;
  readonly file: Pick<ArchivedFile, 'sizeBytes' | 'scan'>;
}

function scanOf(bytes: Buffer): CsvScan {
  const scanner = new CsvScanner(RECORDS_PER_CUT);
  scanner.push(bytes);
  return scanner.end();
}

/** Rows of every file, by its number. */
async function readCells(
  database: Database,
  folder: string,
  files: number,
): Promise<readonly (readonly Row[])[]> {
  const byFile: Row[][] = Array.from({ length: files }, () => []);
  if (files === 0) return byFile;
  const rows = await database.use((session) =>
    session.all('marked-cells', { folder, files, invoice_id: INVOICE }),
  );
  for (const { chunk, ...row } of rows) byFile[Number(chunk)]?.push(row);
  return byFile;
}

async function whyUnlike(
  rows: readonly Row[],
  {
    path,
    reference,
    records,
  }: { readonly path: string; readonly reference: ReferenceVerdict; readonly records: number },
): Promise<string | null> {
  if (rows.length !== records) return `${records} records, ${rows.length} rows`;
  const allGood = rows.every(
    (row) => row.row_is_good === true && isCurrency(String(row.currency_code).slice(1)),
  );
  if (!allGood) {
    const { findings } = await findBrokenRows(path, INVOICE);
    const found = findings.map(({ rule, row, column }) => `${rule}@${row}/${column}`);
    if (reference.isGood || found.length === 0) return `DuckDB refuses, csv-parse finds ${found.join(' ')}`;
    return same(found, reference.cells.slice(0, 100)) ? null : 'the findings differ';
  }
  if (!reference.isGood) return `DuckDB takes what csv-parse refuses: ${reference.why}`;
  const differing = rows.findIndex((row, index) => !sameCells(row, reference.rows[index] ?? []));
  return differing === -1 ? null : `row ${differing + 1} has other cells`;
}

/** Cuts every file into chunks and reads all of them. @returns the numbers of files that then have other rows */
async function cutOtherwise(
  database: Database,
  files: readonly FileToCut[],
  wanted: readonly (readonly Row[])[],
): Promise<readonly number[]> {
  const pieces: Piece[] = [];
  for (const { number, path, file } of files) {
    pieces.push({ number, chunks: await cutIntoChunks(path, file, database.temporaryFolder) });
  }
  return readPieces(database, pieces, {
    wanted,
    perChunk: RECORDS_PER_CUT,
    statement: 'marked-chunks',
  });
}

interface Piece {
  readonly number: number;
  readonly chunks: Chunks;
}

/** Reads the chunks of many files as those of one. @returns the numbers of files whose rows are not as wanted */
async function readPieces(
  database: Database,
  pieces: readonly Piece[],
  {
    wanted,
    perChunk,
    statement,
  }: {
    readonly wanted: readonly (readonly Row[])[];
    readonly perChunk: number;
    readonly statement: string;
  },
): Promise<readonly number[]> {
  const folder = temporaryName(database.temporaryFolder);
  await mkdir(folder);
  let chunks = 0;
  const expected: { readonly number: number; readonly rows: readonly Row[] }[] = [];
  for (const { number: file, chunks: own } of pieces) {
    const first = chunks;
    for (let number = 0; number < own.count; number += 1) {
      await rename(join(own.folder, `${number}.csv`), join(folder, `${chunks}.csv`));
      chunks += 1;
    }
    await own.discard();
    const rows = (wanted[file] ?? []).map(({ row_is_good: _, ...cells }, row) => ({
      row_number: (first + Math.floor(row / perChunk)) * perChunk + (row % perChunk) + 1,
      ...cells,
    }));
    expected.push({ number: file, rows });
  }
  const found = new Map<unknown, Row>();
  if (chunks > 0) {
    const rows = await database.use(async (session) => {
      await session.script(numberChunks(chunks, perChunk));
      return session.once(statement, { folder, chunks, invoice_id: INVOICE });
    });
    for (const row of rows) found.set(row.row_number, row);
    const count = expected.reduce((sum, { rows }) => sum + rows.length, 0);
    if (rows.length !== count) throw new Error(`${rows.length} rows of ${count} wanted came out of chunks.`);
  }
  await rm(folder, { recursive: true });
  return expected.flatMap(({ number, rows }) =>
    rows.every((row) => same(found.get(row.row_number), row)) ? [] : [number],
  );
}

async function compareAllForms(database: Database, files: readonly Forms[]): Promise<readonly Verdict[]> {
  const others = files.map(({ other }) => other);
  const specified = files.map((file) => file.specified);
  return withFiles(database, others, async (folder) => {
    const pieces: Piece[] = [];
    const verdicts: Verdict[] = [];
    for (const [number, file] of files.entries()) {
      const isGood = readReference(file.specified, INVOICE).isGood;
      const read = await tolerate(
        {
          invoiceId: INVOICE,
          file: { sizeBytes: file.other.length, scan: scanOf(file.other) },
          csvPath: join(folder, `${number}.csv`),
        },
        CSV_TOLERANCES,
        database.temporaryFolder,
      );
      let why: string | null = null;
      if (read === null || 'outcome' in read) {
        if (isGood) why = 'tolerated, a good file is refused';
      } else if (isGood) pieces.push({ number, chunks: read.chunks });
      else {
        await read.chunks.discard();
        // A header alone is for the load to check.
        if (read.chunks.count > 0) why = 'tolerated, a bad file is taken';
      }
      verdicts.push({ isGood, why });
    }
    const good = specified.map((bytes, number) => (verdicts[number]?.isGood === true ? bytes : Buffer.of()));
    const wanted = await withFiles(database, good, (written) => readCells(database, written, good.length));
    const options = { wanted, perChunk: RECORDS_PER_TOLERATED, statement: 'marked-tolerated' };
    for (const number of await readPieces(database, pieces, options)) {
      verdicts[number] = { isGood: true, why: 'tolerated, it has other rows' };
    }
    return verdicts;
  });
}

/** Writes files as `0.csv`, `1.csv` and so on of a folder that is gone afterwards. */
async function withFiles<T>(
  database: Database,
  files: readonly Buffer[],
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = temporaryName(database.temporaryFolder);
  await mkdir(folder);
  try {
    for (const [number, bytes] of files.entries()) await writeFile(join(folder, `${number}.csv`), bytes);
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** DuckDB's typed cells against the text; decimals by value, everything else to the character. */
function sameCells(row: Row, text: readonly string[]): boolean {
  const { row_is_good: _, ...cells } = row;
  const found = Object.values(cells).map((cell) => (typeof cell === 'string' ? cell.slice(1) : cell));
  return STORED_COLUMNS.every(({ header, type }, index) => {
    const cell = text[CSV_HEADERS.indexOf(header)] ?? '';
    const value = found[index];
    if (cell === '') return value === null;
    return value === (type.startsWith('DECIMAL') ? fourDecimals(cell) : cell);
  });
}

/** `-0.5` → `-0.5000`, by text alone. */
function fourDecimals(text: string): string {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const value = `${whole.replace(/^0+(?=\d)/, '')}.${fraction.padEnd(4, '0')}`;
  return text.startsWith('-') && /[1-9]/.test(value) ? `-${value}` : value;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
