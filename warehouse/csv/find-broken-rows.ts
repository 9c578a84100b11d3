/**
 * Reads a refused file once more with csv-parse, to say which line, which column, which rule, what was there.
 *
 * It stops at a hundred findings. `read-in-thread.ts` bounds its time and memory. It is also the second, independent
 * reader that tests confront with the load.
 */

import { createReadStream } from 'node:fs';
import { type Info, parse } from 'csv-parse';
import {
  addedCells,
  CSV_COLUMNS,
  CSV_HEADERS,
  type CsvFinding,
  type CsvForm,
} from '../../lib/wire/csv-file.ts';
import { MAX_FINDINGS, MAX_RECORD_BYTES } from '../../lib/wire/csv-scanner.ts';
import { dropIdleZeros } from '../../lib/wire/decimal.ts';
import { printable } from '../../lib/wire/text.ts';
import { brokenCells } from './cell-rules.ts';

export interface BrokenRows {
  /** The first 100, in order of the file. */
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  /** The search ended at a hundred findings; there may be more. */
  readonly isCutOff: boolean;
  /** Records that were read, without the header. */
  readonly records: number;
}

export interface FindBrokenRowsOptions {
  /** The scan has told of records with too few or too many fields: only the cells of the others are looked at. */
  readonly skipsRagged?: boolean;
  /** Of a file that is tolerated: where its cells stand, and what is done with them; left out: the specified form. */
  readonly tolerated?: Tolerated;
  /** Is given the specified cells of every row that breaks no rule, in their order, and its added ones as JSON. */
  readonly onGoodRow?: (cells: readonly string[], added: string | null) => void;
}

export interface Tolerated {
  readonly form: CsvForm;
  readonly takesLineFeeds: boolean;
  /** Zeros beyond four decimals are left out. */
  readonly dropsZeros: boolean;
}

/**
 * The answer for a file whose records the scan can tell apart; what csv-parse itself cannot read is one finding more.
 *
 * @param invoiceId null: nobody knows whose rows they are, and any UUID will do
 */
export async function findBrokenRows(
  csvPath: string,
  invoiceId: string | null,
  { skipsRagged = false, tolerated, onGoodRow }: FindBrokenRowsOptions = {},
): Promise<BrokenRows> {
  const findings: CsvFinding[] = [];
  const fields = tolerated?.form.names.length ?? CSV_HEADERS.length;
  let records = 0;
  let nextLine = 1;
  const add = (finding: CsvFinding): void => {
    if (findings.length < MAX_FINDINGS) findings.push({ ...finding, value: printable(finding.value) });
  };

  const parser = parse({
    bom: true,
    info: true,
    raw: true,
    columns: false,
    record_delimiter: tolerated?.takesLineFeeds === true ? ['\r\n', '\n'] : ['\r\n'],
    max_record_size: MAX_RECORD_BYTES,
    relax_column_count: skipsRagged,
  });
  const input = createReadStream(csvPath);
  input.on('error', (error) => parser.destroy(error));
  input.pipe(parser);
  try {
    for await (const chunk of parser as AsyncIterable<{ record: string[]; info: Info; raw: string }>) {
      const { record, info, raw } = chunk;
      // Not `info.lines`: it counts a CRLF inside quotes twice.
      const line = nextLine;
      nextLine += raw.replace(/\r?\n$/, '').split('\n').length;
      if (info.records === 1) continue;
      records += 1;
      if (record.length !== fields) continue;
      const cells = tolerated === undefined ? record : specified(record, tolerated);
      const broken = brokenCells(cells, invoiceId);
      if (broken.length === 0) {
        onGoodRow?.(cells, tolerated === undefined ? null : addedCells(tolerated.form, record));
      }
      for (const cell of broken) {
        const place = CSV_HEADERS.indexOf(cell.column);
        const before = record.slice(0, tolerated?.form.places[place] ?? place);
        add({ line: line + lineBreaksIn(before), row: records, ...cell });
      }
      if (findings.length >= MAX_FINDINGS) break;
    }
  } catch (error) {
    if (!isCsvError(error)) throw error;
    add({
      line: error.lines ?? null,
      row: records + 1,
      column:
        error.column === undefined
          ? null
          : ((tolerated?.form.names ?? CSV_HEADERS)[Number(error.column)] ?? null),
      rule: 'unreadable',
      value: error.code,
    });
  } finally {
    input.destroy();
    parser.destroy();
  }
  const findingCount = findings.length;
  return { findings, findingCount, isCutOff: findingCount >= MAX_FINDINGS, records };
}

/** The cells that the specification names, in its order. */
function specified(record: readonly string[], { form, dropsZeros }: Tolerated): readonly string[] {
  return form.places.map((place, index) => {
    const cell = record[place] ?? '';
    return dropsZeros && DECIMALS.has(index) ? dropIdleZeros(cell) : cell;
  });
}

const DECIMALS: ReadonlySet<number> = new Set(
  CSV_COLUMNS.flatMap(({ rule }, index) => (rule === 'amount' || rule === 'weight' ? [index] : [])),
);

/** A cell is reported with the line on which it begins, as in the byte scan. */
function lineBreaksIn(cells: readonly string[]): number {
  return cells.reduce((count, cell) => count + cell.split('\n').length - 1, 0);
}

function isCsvError(
  error: unknown,
): error is Error & { code: string; lines?: number; column?: number | string } {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_');
}
