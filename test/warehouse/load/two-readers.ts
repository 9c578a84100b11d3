/**
 * Confronts our two ways of reading a file on generated ones: scan and DuckDB against csv-parse alone. They must agree
 * on the verdict, on the findings, and on every cell of what is good, which is read whole and cut into chunks.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { CSV_HEADERS } from '../../../contract/columns.js';
import { type ArchivedFile, CSV_TOLERANCES, type CsvScan } from '../../../contract/csv-file.js';
import { CsvScanner } from '../../../contract/csv-scanner.js';
import { isNothing } from '../../../contract/invisible.js';
import { isCurrency } from '../../../warehouse/csv/currencies.js';
import { findBrokenRows } from '../../../warehouse/csv/find-broken-rows.js';
import { Database } from '../../../warehouse/duckdb/database.js';
import { sql } from '../../../warehouse/duckdb/sql.js';
import type { Row } from '../../../warehouse/duckdb/statements.js';
import { cutIntoChunks, numberChunks } from '../../../warehouse/load/chunks.js';
import { tolerate } from '../../../warehouse/load/tolerate.js';
import { readReference } from './reference-reader.js';

export const INVOICE = '7f3a0000-1111-4222-8333-444455556666';
const AT_ONCE = 4;
/** Each text behind a mark, since node-api drops a byte order mark that a text begins with; DuckDB holds it. */
const MARKED_CELLS = `
    select row_is_good, '|' || columns(* exclude (chunk, row_is_good))::varchar
    from checked_csv([$csv_path], $invoice_id)`;
/** Files are small here, so they are cut more often than real ones. */
const RECORDS_PER_CUT = 2;
const MARKED_STRETCHES = `
    select row_number, '|' || columns(* exclude (load_id, row_number))::varchar
    from numbered_chunks(1, $folder, $chunks::integer, $invoice_id)
    order by row_number`;

const STATEMENTS: Readonly<Record<string, string>> = {
  'marked-chunks': MARKED_STRETCHES,
  'marked-rows': `select row_number, '|' || columns(* exclude (load_id, row_number))::varchar
    from numbered_csv(1, $csv_path, $invoice_id) order by row_number`,
  'marked-tolerated': `
    select row_number, '|' || columns(* exclude (load_id, row_number, added_columns))::varchar
    from numbered_tolerated(1, $folder, $chunks::integer, $invoice_id) order by row_number`,
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
  const queue = fc.sample(anyFile(), { numRuns: options.files, seed: options.seed });
  const reader = async (): Promise<void> => {
    for (let bytes = queue.pop(); bytes !== undefined; bytes = queue.pop()) {
      const { why, isGood } = await readers.compare(bytes);
      if (isGood) good += 1;
      if (why !== null) disagreements.push({ why, bytes });
      done += 1;
      options.onProgress?.(done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
  await readers.close();
  return { files: done, good, refused: done - good, disagreements };
}

export interface Readers {
  /** @returns `why` is null when both readers say the same */
  compare(bytes: Buffer): Promise<{ readonly why: string | null; readonly isGood: boolean }>;
  /** Whether a file of another form comes to the same rows under all tolerances, or is refused as the specified one is. */
  compareForms(specified: Buffer, other: Buffer): Promise<string | null>;
  close(): Promise<void>;
}

export async function openReaders(): Promise<Readers> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-readers-'));
  const database = await Database.open({
    path: join(folder, 'x.duckdb'),
    folders: [folder],
    temporaryFolder: folder,
    memoryLimit: null,
    statements: (name) => STATEMENTS[name] ?? sql(name),
  });
  let files = 0;
  const written = async <T>(bytes: Buffer, use: (path: string) => Promise<T>): Promise<T> => {
    files += 1;
    const path = join(folder, `${files}.csv`);
    await writeFile(path, bytes);
    return use(path).finally(() => rm(path));
  };
  return {
    compare: (bytes) => written(bytes, (path) => compare(database, path, bytes)),
    compareForms: (specified, other) =>
      written(specified, async (path) => {
        const isGood = readReference(specified, INVOICE).isGood;
        const file = { invoiceId: INVOICE, file: { sizeBytes: other.length, scan: scanOf(other) } };
        const read = await written(other, (csvPath) =>
          tolerate({ ...file, csvPath }, CSV_TOLERANCES, database.temporaryFolder),
        );
        if (read === null || 'outcome' in read) return isGood ? 'tolerated, a good file is refused' : null;
        const { folder: chunks, count, discard } = read.chunks;
        try {
          // A header alone is for the load to judge.
          if (!isGood) return count === 0 ? null : 'tolerated, a bad file is taken';
          return await database.use(async (session) => {
            const wanted = await session.all('marked-rows', { csv_path: path, invoice_id: INVOICE });
            await session.script(numberChunks(count, 122_880));
            const params = { folder: chunks, chunks: count, invoice_id: INVOICE };
            const found = count === 0 ? [] : await session.once('marked-tolerated', params);
            return same(found, wanted) ? null : 'tolerated, it has other rows';
          });
        } finally {
          await discard();
        }
      }),
    async close() {
      database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @returns `why` is null when both readers say the same */
async function compare(
  database: Database,
  path: string,
  bytes: Buffer,
): Promise<{ readonly why: string | null; readonly isGood: boolean }> {
  const reference = readReference(bytes, INVOICE);
  const scan = scanOf(bytes);
  const isGood = reference.isGood;
  if (scan.findingCount > 0) {
    const said = scan.findings.map(({ rule }) => rule).join(', ');
    const agrees = !isGood && reference.cells.length === 0;
    return { isGood, why: agrees ? null : `the scan refuses (${said}), csv-parse does not` };
  }
  const rows = await database.use((session) =>
    session.statement(MARKED_CELLS, { csv_path: path, invoice_id: INVOICE }),
  );
  if (rows.length !== scan.records) return { isGood, why: `${scan.records} records, ${rows.length} rows` };
  const allGood = rows.every(
    (row) => row.row_is_good === true && isCurrency(String(row.currency_code).slice(1)),
  );
  if (!allGood) {
    const { findings } = await findBrokenRows(path, INVOICE);
    const said = findings.map(({ rule, row, column }) => `${rule}@${row}/${column}`);
    if (isGood || said.length === 0)
      return { isGood, why: `DuckDB refuses, csv-parse says ${said.join(' ')}` };
    return { isGood, why: same(said, reference.cells.slice(0, 100)) ? null : 'the findings differ' };
  }
  if (!reference.isGood) return { isGood, why: `DuckDB takes what csv-parse refuses: ${reference.why}` };
  const differing = rows.findIndex((row, index) => !sameCells(row, reference.rows[index] ?? []));
  if (differing !== -1) return { isGood, why: `row ${differing + 1} has other cells` };
  const cut = await readChunks(database, path, { sizeBytes: bytes.length, scan });
  const wanted = rows.map(({ row_is_good: _, ...cells }, index) => ({ row_number: index + 1, ...cells }));
  return { isGood, why: same(cut, wanted) ? null : 'cut into chunks it has other rows' };
}

async function readChunks(
  database: Database,
  path: string,
  file: Pick<ArchivedFile, 'sizeBytes' | 'scan'>,
): Promise<readonly Row[]> {
  const { folder, count, discard } = await cutIntoChunks(path, file, database.temporaryFolder);
  try {
    return await database.use(async (session) => {
      await session.script(numberChunks(count, RECORDS_PER_CUT));
      return session.once('marked-chunks', { folder, chunks: count, invoice_id: INVOICE });
    });
  } finally {
    await discard();
  }
}

/** DuckDB's typed cells against the text; decimals by value, everything else to the character. */
function sameCells(row: Row, text: readonly string[]): boolean {
  const { row_is_good: _, ...cells } = row;
  const found = Object.values(cells).map((cell) => (typeof cell === 'string' ? cell.slice(1) : cell));
  const wanted = text.filter((_cell, index) => CSV_HEADERS[index] !== 'Invoice ID');
  return wanted.every((cell, index) => {
    const value = found[index];
    if (cell === '') return value === null;
    const isDecimal = index === 5 || index === 6;
    return isDecimal ? value === fourDecimals(cell) : value === cell;
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

/** Mostly good files with awkward text; then mutated in cells, in structure or in bytes. */
function anyFile(): fc.Arbitrary<Buffer> {
  const awkward = fc.constantFrom(
    '',
    ' ',
    'Acme',
    '"Acme, Inc."',
    '"say ""hi"""',
    '"a\r\nb"',
    '"a\nb"',
    '"\r\n"',
    '""',
    '"a""\r\n""b"',
    '00501',
    '=1+1',
    'Zoë 🚚',
    '日本',
    '"\t,"',
    "'",
    '#',
    '\\',
    '"\\"',
    'x'.repeat(300),
    '\u2028',
    '\ufeffAcme',
    '"\ufeff"',
    '"" ',
    ' "x"',
    'a"b',
    '"a"b',
    '"open',
    'a\rb',
    'a\nb',
    '\0',
    ',',
  );
  const text = fc.oneof(
    { weight: 12, arbitrary: awkward.filter((cell) => !BROKEN.has(cell)) },
    { weight: 1, arbitrary: awkward },
  );
  const amount = fc.oneof(
    {
      weight: 12,
      arbitrary: fc
        .tuple(fc.integer({ min: -99999, max: 99999 }), fc.integer({ min: 0, max: 4 }))
        .map(([n, d]) => asAmount(n, d)),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '1e3',
        '1.23456',
        ' 1',
        '+1',
        '1,5',
        '"1,5"',
        '.5',
        '5.',
        'NaN',
        '1_0',
        '100000000000000',
      ),
    },
  );
  const day = fc.oneof(
    {
      weight: 14,
      arbitrary: fc
        .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
        .map((date) => date.toISOString().slice(0, 10)),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '2026-02-30',
        '2026-2-3',
        'epoch',
        '2026-02-03 ',
        'infinity',
        '0000-01-01',
        '1900-02-29',
      ),
    },
  );
  const mostly = <T>(good: T, others: readonly T[]): fc.Arbitrary<T> =>
    fc.oneof(
      { weight: 40, arbitrary: fc.constant(good) },
      { weight: 1, arbitrary: fc.constantFrom(...others) },
    );
  const required = fc.oneof(
    { weight: 400, arbitrary: text.map((cell) => (isNothing(cell.replaceAll('"', '')) ? 'T' : cell)) },
    { weight: 1, arbitrary: fc.constantFrom(' ', '"\r\n"', '"\ufeff"', '\u200b', '\u3000x') },
  );
  const row = fc
    .tuple(
      required,
      day,
      mostly(INVOICE, [INVOICE.toUpperCase(), 'x', '']),
      day,
      text,
      mostly('USD', ['EUR', 'usd', 'ZZZ', '', '\ufeffUSD']),
      amount,
      amount.map((cell) => cell.replace('-', '')),
      mostly('LB', ['KG', 'lb', '']),
      required,
      required,
      text,
      fc.oneof(day, fc.constant('')),
      text,
    )
    .map((cells) => cells.join(','));
  const end = mostly('\r\n', ['\n', '\r', '\r\n\r\n', '\n\r']);
  const lines = fc.array(fc.tuple(row, end), { minLength: 0, maxLength: 6 });
  const header = mostly(CSV_HEADERS.join(','), [
    CSV_HEADERS.join(';'),
    CSV_HEADERS.toReversed().join(','),
    '',
  ]);
  const base = fc
    .tuple(mostly('', ['\ufeff']), header, lines)
    .map(([bom, head, rows]) =>
      Buffer.from(`${bom}${head}\r\n${rows.map((pair) => pair.join('')).join('')}`),
    );
  return fc.oneof({ weight: 5, arbitrary: base }, { weight: 1, arbitrary: base.chain(mutated) });
}

const BROKEN = new Set(['"" ', ' "x"', 'a"b', '"a"b', '"open', 'a\rb', 'a\nb', '\0', ',']);

/** Cuts off, puts in or changes bytes anywhere. */
function mutated(bytes: Buffer): fc.Arbitrary<Buffer> {
  const place = fc.integer({ min: 0, max: bytes.length });
  return fc.oneof(
    place.map((at) => bytes.subarray(0, at)),
    fc
      .tuple(place, fc.constantFrom('"', ',', '\r', '\n', '\0', '\r\n', '""', 'é', '\ufeff'))
      .map(([at, put]) => Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(at)])),
    fc.tuple(place, fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = byte;
      return copy;
    }),
  );
}

function asAmount(value: number, decimals: number): string {
  const digits = `${Math.abs(value)}`.padStart(decimals + 1, '0');
  const text = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
  return value < 0 ? `-${text}` : text;
}

function scanOf(bytes: Buffer): CsvScan {
  const scanner = new CsvScanner(RECORDS_PER_CUT);
  scanner.push(bytes);
  return scanner.end();
}
