/** What is known of the bytes of an invoice CSV once they were read: the first of the three readers (design: load). */

import { CSV_EDITIONS, CSV_HEADERS } from './columns.ts';

/** What a partner may accept besides the specified form (`BILLSYNC_CSV_TOLERATE`). */
export const CSV_TOLERANCES = ['line-ends', 'column-order', 'added-columns', 'decimals'] as const;
export type CsvTolerance = (typeof CSV_TOLERANCES)[number];

/** One thing wrong with a file, in words a person can act on. */
export interface CsvFinding {
  /** Physical line of the file, from 1 (the header is line 1); null when the whole file is meant. */
  readonly line: number | null;
  /** Record number from 1, the header not counted; null when the whole file or the header is meant. */
  readonly row: number | null;
  /** Header name of the column, null when a whole line is meant. */
  readonly column: string | null;
  /** Stable machine name of the rule, kebab-case: `header`, `field-count`, `bare-lf`, `nul`, `utf-8`, `amount`, … */
  readonly rule: string;
  /** What was there, at most 200 characters, control characters escaped. */
  readonly value: string;
}

/** The result of one pass over the bytes. A scan with findings of a refusing rule means: never load. */
export interface CsvScan {
  /** Records without the header, counted outside quotes. */
  readonly records: number;
  readonly longestRecordBytes: number;
  /** The first 100 findings, in order of the file. */
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  /** false is a note, not a refusal, when the hash or the header proves the file. */
  readonly endsWithLineEnd: boolean;
  /** Offsets in bytes between records: where the header ends, and where every 122,880th record does when another follows. */
  readonly cuts: readonly number[];
  /** Columns of the header, when it is an earlier one than today's (`CSV_EDITIONS`); left out: the first fourteen. */
  readonly columns?: number;
}

/** Whether a file has the specified form, or nothing but its header, so that DuckDB reads it as it is. */
export function isSpecified(scan: CsvScan): boolean {
  return (scan.findingCount === 0 || isHeaderOnly(scan)) && hasAllColumns(scan);
}

/** Whether a file has the columns of today, as far as its header was right. */
export function hasAllColumns({ columns = CSV_EDITIONS[0]?.length }: CsvScan): boolean {
  return columns === CSV_HEADERS.length;
}

/** Whether all that is wrong with a file is that it has no rows: right where the invoice has no shipments. */
export function isHeaderOnly({ findings, findingCount }: CsvScan): boolean {
  return findingCount === 1 && findings[0]?.rule === 'no-rows';
}

/** Whether a file has other columns or line ends than specified: earlier columns are accepted, the rest where a partner says so. */
export function isOfOtherForm(scan: CsvScan): boolean {
  return !hasAllColumns(scan) || scan.findings.some(({ rule }) => rule === 'header' || rule === 'bare-lf');
}

/** A file that lies in the archive under its hash. */
export interface ArchivedFile {
  /** Lower-case hex; also the file's name. */
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly scan: CsvScan;
}
