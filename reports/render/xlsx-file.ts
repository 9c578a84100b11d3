/** Writes a result as an Excel workbook: the rows on one sheet, what has to be known to trust them on another. */

import type { Stream } from 'node:stream';
import writeXlsxFile, { type Cell, type Feature, type Row, type SheetData } from 'write-excel-file/node';
import type { ReportCell, ReportColumn, ReportResult } from '../report-result.ts';
import { cellLabel, columnLabel, headLines } from './labels.ts';
import { sheetNameOf } from './names.ts';
import { sumsOf } from './table-order.ts';

/** Excel keeps 15 significant digits; a decimal with more is written as text, so that none is lost. */
const EXCEL_DIGITS = 15;

type Rows = Pick<ReportResult, 'columns' | 'rows' | 'summed'>;

type OfWorkbook = Feature<Stream | Buffer | Blob>;

/** As workbooks number it (ECMA-376, ST_PaperSize). */
const A4 = 9;

/** A sheet is as wide as the page, which the library can only turn. Of sheets with `orientation: 'landscape'`. @param paper A4 unless told */
export function fitsPage(paper = A4): OfWorkbook {
  return ofSheets((xml) =>
    xml
      .replace(/<worksheet\b[^>]*>/, '$&<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>')
      .replace(
        /<pageSetup ([^>]*?)paperSize="\d+"/,
        `<pageSetup $1paperSize="${paper}" fitToWidth="1" fitToHeight="0"`,
      ),
  );
}

/** Arrows in the first row, by which rows are chosen and sorted; what lies below these rows stays. @param sheet from 0 */
export function filtered(sheet: number, { columns, rows }: Rows): OfWorkbook {
  const range = `A1:${letters(columns.length)}${rows.length + 1}`;
  return ofSheets((xml, index) =>
    index === sheet ? xml.replace('</sheetData>', `</sheetData><autoFilter ref="${range}"/>`) : xml,
  );
}

function ofSheets(change: (xml: string, index: number) => string): OfWorkbook {
  const transform = (xml: string, _: unknown, { sheetIndex }: { readonly sheetIndex: number }): string =>
    change(xml, sheetIndex);
  return { files: { transform: { 'xl/worksheets/sheet{id}.xml': { transform } } } };
}

/** Of a column from 1: A, Z, AA. */
function letters(column: number): string {
  const rest = Math.floor((column - 1) / 26);
  return `${rest === 0 ? '' : letters(rest)}${String.fromCharCode(65 + ((column - 1) % 26))}`;
}

export function renderXlsx(result: ReportResult): Promise<Uint8Array> {
  return renderWorkbook(result, { sheet: sheetNameOf(result), about: aboutReport(result) });
}

/** Rows on a sheet of that name, what they add up to, and a sheet "About" of labels and texts beside it. */
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
  const sums = sumsOf(result).map((sum) =>
    result.columns.map((column, index) =>
      index === 0
        ? { value: `Sum in ${sum.currency_code}`, type: String, fontWeight: 'bold' as const }
        : boldly(cellOf(sum[column.name] ?? null, column)),
    ),
  );
  return writeXlsxFile(
    [
      {
        data: [header, ...rows, ...sums],
        ...{ sheet, orientation: 'landscape', stickyRowsCount: 1 },
        columns: result.columns.map((column) => ({ width: widthOf(result, column) })),
      },
      {
        data: aboutSheet(about),
        ...{ sheet: 'About', orientation: 'landscape', columns: [{ width: 16 }, { width: 110 }] },
      },
    ],
    { features: [filtered(0, result), fitsPage()] },
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

function boldly(cell: Cell): Cell {
  return cell !== null && typeof cell === 'object' ? { ...cell, fontWeight: 'bold' } : cell;
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
