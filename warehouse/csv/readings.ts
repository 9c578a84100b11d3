/** What csv-parse is asked to do with a file, as values that can be sent to a thread. */

import { closeSync, openSync, readSync } from 'node:fs';
import { type CsvForm, type CsvScan, type CsvTolerance, isHeaderOnly } from '../../lib/wire/csv-file.ts';
import { CsvScanner, MAX_RECORD_BYTES } from '../../lib/wire/csv-scanner.ts';
import type { Row } from '../duckdb/statements.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { type BrokenRows, findBrokenRows, type Tolerated } from './find-broken-rows.ts';
import { readFormOf } from './read-form.ts';
import { RowTotals } from './row-totals.ts';

/** @property invoiceId null: nobody knows whose rows they are, and any UUID will do */
export interface Reading {
  readonly csvPath: string;
  readonly invoiceId: string | null;
  /** The scan has told of records with too few or too many fields: only the cells of the others are looked at. */
  readonly skipsRagged: boolean;
  /** Reads a file of another form than the specified one. */
  readonly tolerate?: {
    readonly tolerances: readonly CsvTolerance[];
    /** Where its rows are written in the specified form, cut into chunks; null: nowhere. */
    readonly folder: string | null;
    /** `RECORDS_PER_CUT` unless told. */
    readonly recordsPerCut?: number | undefined;
  };
}

export interface Read {
  readonly broken: BrokenRows;
  /** Of the rows that break no rule, as `totalsOf` says it of rows that are loaded. */
  readonly totals: readonly Row[];
  /** Of a tolerant reading: what the byte scan says under these tolerances; null when they do not reach to the file's form. */
  readonly scan: CsvScan | null;
  /** Chunks that were written. */
  readonly chunks: number;
}

export async function readNow(reading: Reading): Promise<Read> {
  const { csvPath, invoiceId, skipsRagged, tolerate } = reading;
  if (tolerate !== undefined) return readTolerantly(reading, tolerate);
  const totals = new RowTotals();
  const broken = await findBrokenRows(csvPath, invoiceId, {
    skipsRagged,
    onGoodRow: (row) => totals.add(row),
  });
  return { broken, totals: totals.rows(), scan: null, chunks: 0 };
}

const NOTHING_BROKEN: BrokenRows = { findings: [], findingCount: 0, isCutOff: false, records: 0 };

async function readTolerantly(
  { csvPath, invoiceId }: Reading,
  { tolerances, folder, recordsPerCut }: NonNullable<Reading['tolerate']>,
): Promise<Read> {
  const none = { broken: NOTHING_BROKEN, totals: [], chunks: 0 };
  const form = readFormOf(csvPath);
  if (form === null || !form.needs.every((need) => tolerances.includes(need))) return { ...none, scan: null };
  const takesLineFeeds = tolerances.includes('line-ends');
  const scan = scanTolerantly(csvPath, form, takesLineFeeds);
  if (scan.findingCount > 0) {
    if (isHeaderOnly(scan)) return { ...none, scan };
    const { findings, findingCount } = scan;
    return { ...none, scan, broken: { findings, findingCount, isCutOff: false, records: scan.records } };
  }
  const tolerated: Tolerated = { form, takesLineFeeds, dropsZeros: tolerances.includes('decimals') };
  const totals = new RowTotals();
  const writer = folder === null ? null : new ChunkWriter(folder, recordsPerCut);
  try {
    const broken = await findBrokenRows(csvPath, invoiceId, {
      tolerated,
      onGoodRow(cells, added) {
        totals.add(cells);
        writer?.write(cells, added);
      },
    });
    const told = writer?.tooBig == null ? broken : tooBig(writer.tooBig, broken);
    return { broken: told, totals: totals.rows(), scan, chunks: writer?.count ?? 0 };
  } finally {
    writer?.close();
  }
}

/** With its added columns as JSON. */
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
