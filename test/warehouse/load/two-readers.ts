/**
 * Compares our two readers of a file on generated ones: scan and DuckDB against csv-parse alone. They must agree on the
 * verdict, on the findings, and on every cell of a good file, which is read whole and cut into chunks.
 */

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryName } from '../../../lib/files/files.ts';
import { CSV_HEADERS, CSV_TOLERANCES, type CsvScan, STORED_COLUMNS } from '../../../lib/wire/csv-file.ts';
import { CsvScanner, RECORDS_PER_CUT } from '../../../lib/wire/csv-scanner.ts';
import { isCurrency } from '../../../warehouse/csv/cell-rules.ts';
import { findBrokenRows } from '../../../warehouse/csv/find-broken-rows.ts';
import { Database } from '../../../warehouse/duckdb/database.ts';
import type { Row } from '../../../warehouse/duckdb/statements.ts';
import { type Chunks, cutIntoChunks, numberChunks, tolerate } from '../../../warehouse/load/chunks.ts';
import { makeMemoryFolder } from '../../support/folders.ts';
import { type ReferenceVerdict, readReference } from './reference-reader.ts';

export const INVOICE = '7f3a0000-1111-4222-8333-444455556666';
/** Files are small here, so they are cut more often than real ones. */
const SMALL_CUT = 2;

/** `why` is null when both readers agree. */
interface Verdict {
  readonly why: string | null;
  readonly isGood: boolean;
}

/** Rows in two forms. */
export interface Forms {
  readonly specified: Buffer;
  readonly other: Buffer;
}

export async function openReaders() {
  const folder = await makeMemoryFolder('billsync-readers-');
  const database = await Database.open({
    path: join(folder, 'x.duckdb'),
    folders: [folder],
    temporaryFolder: folder,
    memoryLimit: null,
  });
  return {
    compare: (file: Buffer) => compareFile(database, file),
    /** Whether a file of another form has the same rows under all tolerances, or is refused as the specified one is. */
    compareForms: (forms: Forms) => compareForms(database, forms),
    async close() {
      database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function compareFile(database: Database, bytes: Buffer): Promise<Verdict> {
  const reference = readReference(bytes, INVOICE);
  const { isGood } = reference;
  const scan = scanOf(bytes);
  if (scan.findingCount > 0) {
    const rules = scan.findings.map(({ rule }) => rule).join(', ');
    const agrees = !reference.isGood && reference.cells.length === 0;
    return { isGood, why: agrees ? null : `the scan refuses (${rules}), csv-parse does not` };
  }
  return withFile(database, bytes, async (path) => {
    const rows = await readCells(database, path);
    const why = await whyUnlike(rows, { path, reference, records: scan.records });
    if (why !== null || !isGood) return { isGood, why };
    const chunks = await cutIntoChunks(path, { sizeBytes: bytes.length, scan }, database.temporaryFolder);
    const cut = await readChunks(database, chunks, { columns: 'specified', recordsPerCut: SMALL_CUT });
    return { isGood, why: same(cut, numbered(rows)) ? null : 'cut into chunks it has other rows' };
  });
}

async function compareForms(database: Database, { specified, other }: Forms): Promise<Verdict> {
  const { isGood } = readReference(specified, INVOICE);
  const read = await withFile(database, other, (csvPath) => {
    const file = { sizeBytes: other.length, scan: scanOf(other) };
    return tolerate({ invoiceId: INVOICE, file, csvPath }, CSV_TOLERANCES, database.temporaryFolder);
  });
  if (read === null || 'outcome' in read) {
    return { isGood, why: isGood ? 'tolerated, a good file is refused' : null };
  }
  if (!isGood) {
    await read.chunks.discard();
    // The load checks a header without rows.
    return { isGood, why: read.chunks.count > 0 ? 'tolerated, a bad file is accepted' : null };
  }
  const rows = await withFile(database, specified, (path) => readCells(database, path));
  const found = await readChunks(database, read.chunks, {
    columns: 'tolerated',
    recordsPerCut: RECORDS_PER_CUT,
  });
  return { isGood, why: same(found, numbered(rows)) ? null : 'tolerated, it has other rows' };
}

function scanOf(bytes: Buffer): CsvScan {
  const scanner = new CsvScanner(SMALL_CUT);
  scanner.push(bytes);
  return scanner.end();
}

/** Puts a character before each text, since node-api drops a byte order mark at the start of a text; DuckDB stores it. */
const MARKED = `'|' || columns(* exclude (row_is_good))::varchar`;

function readCells(database: Database, path: string): Promise<readonly Row[]> {
  const statement = `select row_is_good, ${MARKED} from (select * exclude (chunk) from checked_csv([$path], $invoice))`;
  return database.all(statement, { path, invoice: INVOICE });
}

async function readChunks(
  database: Database,
  { folder, count: chunks, discard }: Chunks,
  { columns, recordsPerCut }: { readonly columns: 'specified' | 'tolerated'; readonly recordsPerCut: number },
): Promise<readonly Row[]> {
  const others = columns === 'tolerated' ? 'load_id, row_number, added_columns' : 'load_id, row_number';
  const statement = `select row_number, '|' || columns(* exclude (${others}))::varchar
    from numbered_chunks(1, $folder, $chunks::integer, $invoice, ${columns}_columns())
    order by row_number`;
  try {
    return await database.use(async (session) => {
      await session.script(numberChunks(chunks, recordsPerCut));
      return session.once(statement, { folder, chunks, invoice: INVOICE });
    });
  } finally {
    await discard();
  }
}

function numbered(rows: readonly Row[]): readonly Row[] {
  return rows.map(({ row_is_good: _, ...cells }, index) => ({ row_number: index + 1, ...cells }));
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

async function withFile<T>(database: Database, bytes: Buffer, use: (path: string) => Promise<T>): Promise<T> {
  const path = temporaryName(database.temporaryFolder);
  try {
    await writeFile(path, bytes);
    return await use(path);
  } finally {
    await rm(path, { force: true });
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
