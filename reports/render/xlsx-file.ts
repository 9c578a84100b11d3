/** Writes a result as an Excel workbook: the rows on one sheet, what has to be known to trust them on another. */

import type { Stream } from 'node:stream';
import writeXlsxFile, { type Cell, type Feature, type Row, type SheetData } from 'write-excel-file/node';
import type { ReportCell, ReportColumn, ReportResult } from '../report-result.js';
import { cellLabel, columnLabel, headLines } from './labels.js';

/** Excel keeps 15 significant digits; a decimal with more is written as text, so that none is lost. */
const EXCEL_DIGITS = 15;

type Rows = Pick<ReportResult, 'columns' | 'rows'>;

/** On paper of any size a sheet is as wide as the page; the library can only turn it. Of sheets with `orientation: 'landscape'`. */
export const FITS_PAGE: Feature<Stream | Buffer | Blob> = {
  files: {
    transform: {
      'xl/worksheets/sheet{id}.xml': {
        transform: (xml) =>
          xml
            .replace(/<worksheet\b[^>]*>/, '$&<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>')
            .replace('<pageSetup ', '<pageSetup fitToWidth="1" fitToHeight="0" '),
      },
    },
  },
};

export function renderXlsx(result: ReportResult): Promise<Uint8Array> {
  return renderWorkbook(result, { sheet: 'Report', about: aboutReport(result) });
}

/** Rows on a sheet of that name, and a sheet "About" of labels and texts beside it. */
export async function renderWorkbook(
  result: Rows,
  { sheet, about }: { readonly sheet: string; readonly about: readonly (readonly [string, string])[] },
): Promise<Uint8Array> {
  const header: Row = result.columns.map((column) => ({
    value: columnLabel(column),
    fontWeight: 'bold',
    align: column.align,
    wrap: true,
  }));
  const rows = result.rows.map((row) =>
    result.columns.map((column) => cellOf(row[column.name] ?? null, column)),
  );
  return writeXlsxFile(
    [
      {
        data: [header, ...rows],
        ...{ sheet, orientation: 'landscape', stickyRowsCount: 1 },
        columns: result.columns.map((column) => ({ width: widthOf(result, column) })),
      },
      {
        data: aboutSheet(about),
        ...{ sheet: 'About', orientation: 'landscape', columns: [{ width: 16 }, { width: 110 }] },
      },
    ],
    { features: [FITS_PAGE] },
  ).toBuffer();
}

function aboutReport(result: ReportResult): [string, string][] {
  return [
    ['Report', result.title],
    ['One row per', result.grain],
    ...headLines(result.head),
    ['Means', result.means],
    ['Cannot say', result.cannotSay],
    ...result.head.notes.map((note): [string, string] => ['Note', note]),
  ];
}

function aboutSheet(lines: readonly (readonly [string, string])[]): SheetData {
  return lines.map(([label, value]) => [
    { value: label, fontWeight: 'bold', alignVertical: 'top' },
    { value, type: String, wrap: true },
  ]);
}

/** Text is always typed as text, so a value that looks like a formula stays one. */
export function cellOf(cell: ReportCell, column: ReportColumn): Cell {
  if (cell === null) return null;
  if (typeof cell === 'boolean') return { value: cell, type: Boolean };
  if (column.type === 'count') return { value: Number(cell), type: Number, format: '#,##0' };
  if (column.type === 'date')
    return { value: new Date(`${cell}T00:00:00Z`), type: Date, format: 'yyyy-mm-dd' };
  if (
    column.type === 'decimal' &&
    String(cell).replace(/\D/g, '').replace(/^0+/, '').length <= EXCEL_DIGITS
  ) {
    const zeros = '0'.repeat(column.scale);
    return { value: Number(cell), type: Number, format: column.scale > 0 ? `#,##0.${zeros}` : '#,##0' };
  }
  const align = column.align === 'right' ? { align: 'right' as const } : {};
  return { value: String(cell), type: String, ...align };
}

/** Of a column in characters, by its heading and its longest cell: 12 at least, 48 at most. */
export function widthOf(result: Pick<Rows, 'rows'>, column: ReportColumn): number {
  const longest = result.rows.reduce(
    (most, row) => Math.max(most, cellLabel(row[column.name] ?? null, column).length),
    Math.max(10, columnLabel(column).length),
  );
  return Math.min(longest + 2, 48);
}
