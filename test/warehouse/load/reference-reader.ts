/**
 * A second reader of an invoice CSV, by csv-parse alone: a good file by the specification, without our scan and
 * without DuckDB. Tests compare the load with it.
 */

import { parse } from 'csv-parse/sync';
import { CSV_HEADERS } from '../../../lib/wire/csv-file.ts';
import { brokenCells } from '../../../warehouse/csv/cell-rules.ts';

export type ReferenceVerdict =
  | { readonly isGood: true; readonly rows: readonly (readonly string[])[] }
  | { readonly isGood: false; readonly why: string; readonly cells: readonly string[] };

const bad = (why: string): ReferenceVerdict => ({ isGood: false, why, cells: [] });

export function readReference(bytes: Buffer, invoiceId: string): ReferenceVerdict {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bad('utf-8');
  }
  if (text.includes('\0')) return bad('nul');
  if (text.endsWith('\r')) return bad('bare-cr');
  let stray = false;
  let records: string[][];
  try {
    records = parse(text, {
      bom: true,
      record_delimiter: '\r\n',
      skip_empty_lines: false,
      relax_column_count: true,
      max_record_size: 0,
      cast: (value, { quoting }) => {
        if (!quoting && /[\r\n]/.test(value)) stray = true;
        return value;
      },
    }) as string[][];
  } catch (error) {
    return bad(error instanceof Error ? error.message : 'unreadable');
  }
  if (stray) return bad('bare line end');
  const [header, ...rows] = records;
  if (JSON.stringify(header) !== JSON.stringify(CSV_HEADERS)) return bad('header');
  if (rows.length === 0) return bad('no-rows');
  if (rows.some((row) => row.length !== CSV_HEADERS.length)) return bad('field-count');
  if (rows.some((row) => Buffer.byteLength(row.join(',')) > 1_990_000)) return bad('record-too-big');
  const cells = rows.flatMap((row, index) =>
    brokenCells(row, invoiceId).map(({ rule, column }) => `${rule}@${index + 1}/${column}`),
  );
  return cells.length > 0 ? { isGood: false, why: 'cells', cells } : { isGood: true, rows };
}
