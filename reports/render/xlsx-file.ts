import type { ReportCell, ReportColumn, ReportRow } from '../cells.ts';
import type { StreamedResult } from '../report-result.ts';
import { cellLabel, columnLabel, headLines, sheetNameOf } from './labels.ts';
import { addUp } from './table-order.ts';
import { type Cell, type Row, writeWorkbook } from './workbook.ts';

/** Excel keeps 15 significant digits; a decimal with more is written as text. */
const EXCEL_DIGITS = 15;

type Rows = Pick<StreamedResult, 'columns' | 'batches' | 'summed'>;

export function renderXlsx(result: StreamedResult): AsyncIterable<Uint8Array> {
  return renderWorkbook(result, { sheet: sheetNameOf(result), about: aboutReport(result) });
}

export async function* renderWorkbook(
  { columns, batches, summed }: Rows,
  { sheet, about }: { readonly sheet: string; readonly about: readonly (readonly [string, string])[] },
): AsyncGenerator<Uint8Array> {
  const iterator = batches[Symbol.asyncIterator]();
  try {
    // Widths come before the rows, so the first batch determines them.
    const first = await iterator.next();
    const sample = first.done === true ? [] : first.value;
    const sums = addUp({ columns, summed: summed ?? [] });
    let count = 0;
    async function* rows(): AsyncGenerator<Row> {
      yield columns.map((column) => ({
        ...{ value: columnLabel(column), bold: true, align: column.align, wraps: true },
      }));
      for (let next = first; next.done !== true; next = await iterator.next()) {
        for (const row of next.value) {
          count += 1;
          sums.add(row);
          yield rowOf(row, columns);
        }
      }
      for (const sum of sums.rows())
        yield columns.map((column, index) => {
          if (index === 0) return { value: `Sum in ${sum.currency_code}`, bold: true };
          const cell = cellOf(sum[column.name] ?? null, column);
          return cell === null ? null : { ...cell, bold: true };
        });
    }
    yield* writeWorkbook([
      {
        ...{ name: sheet, rows: rows(), hasHeader: true, filteredRows: () => count },
        widths: columns.map((column) => widthOf({ rows: sample }, column)),
      },
      { name: 'About', rows: about.map(aboutRow), widths: [16, 110] },
    ]);
  } finally {
    await iterator.return?.();
  }
}

function aboutReport(result: StreamedResult): [string, string][] {
  return [
    ['Report', result.title],
    ['One row per', result.grain],
    ...headLines(result.head),
    ['Meaning', result.means.replaceAll('`', '')],
    ['Limits', result.limits.replaceAll('`', '')],
    ...result.head.notes.map((note): [string, string] => ['Note', note]),
  ];
}

function aboutRow([label, value]: readonly [string, string]): Row {
  return [
    { value: label, bold: true, isTop: true },
    { value, wraps: true },
  ];
}

export function rowOf(row: ReportRow, columns: readonly ReportColumn[]): Row {
  return columns.map((column) => cellOf(row[column.name] ?? null, column));
}

export function cellOf(cell: ReportCell, column: ReportColumn): Cell {
  if (cell === null) return null;
  if (typeof cell === 'boolean') return { value: cell };
  if (column.type === 'count') return { value: Number(cell), format: '#,##0' };
  // Excel's days before 1900-03-01 are off by one.
  if (column.type === 'date' && String(cell) >= '1900-03-01' && String(cell) <= '9999-12-31')
    return { value: new Date(`${cell}T00:00:00Z`), format: 'yyyy-mm-dd' };
  if (column.type === 'decimal' && significantDigits(String(cell)) <= EXCEL_DIGITS) {
    const zeros = '0'.repeat(column.scale);
    return { value: Number(cell), format: column.scale > 0 ? `#,##0.${zeros}` : '#,##0' };
  }
  return { value: String(cell), ...(column.align === 'right' ? { align: 'right' as const } : {}) };
}

function significantDigits(decimal: string): number {
  return decimal.replace(/\D/g, '').replace(/^0+/, '').length;
}

export function widthOf({ rows }: { readonly rows: readonly ReportRow[] }, column: ReportColumn): number {
  const longest = rows.reduce(
    (most, row) => Math.max(most, cellLabel(row[column.name] ?? null, column).length),
    Math.max(10, columnLabel(column).length),
  );
  return Math.min(longest + 2, 48);
}
