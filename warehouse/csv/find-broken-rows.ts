/** Finds the broken rows of a refused file, and is the independent reader that tests compare with the load. `read-in-thread.ts` limits its time and memory. */

import { createReadStream } from 'node:fs';
import { type Info, parse } from 'csv-parse';
import { dropIdleZeros } from '../../lib/decimal.ts';
import { printable } from '../../lib/text.ts';
import {
  addedCells,
  CSV_COLUMNS,
  CSV_HEADERS,
  type CsvFinding,
  type CsvForm,
} from '../../lib/wire/csv-file.ts';
import { MAX_FINDINGS, MAX_RECORD_BYTES } from '../../lib/wire/csv-scanner.ts';
import { brokenCells } from './cell-rules.ts';

export interface BrokenRows {
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  readonly isCutOff: boolean;
  /** The number of records, without the header. */
  readonly records: number;
}

export interface FindBrokenRowsOptions {
  /** The scan reports records with too few or too many fields. */
  readonly skipsRagged?: boolean;
  readonly tolerated?: Tolerated;
  readonly onGoodRow?: (cells: readonly string[], added: string | null) => void;
}

export interface Tolerated {
  readonly form: CsvForm;
  readonly takesLineFeeds: boolean;
  readonly dropsZeros: boolean;
}

/** @param invoiceId the id that every row must have; null accepts any UUID. An error of csv-parse is one more finding. */
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
      // `info.lines` would count a CRLF inside quotes twice.
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
