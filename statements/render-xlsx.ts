/** A statement as an Excel workbook: the statement on one sheet, the lines that it adds up on another. */

import writeXlsxFile, { type Row } from 'write-excel-file/node';
import { columnLabel } from '../reports/render/labels.ts';
import { cellOf, filtered, fitsPage, widthOf } from '../reports/render/xlsx-file.ts';
import type { ReportColumn } from '../reports/report-result.ts';
import type { PaperSize } from './paper-sizes.ts';
import type { ShipmentLines } from './shipment-lines.ts';
import type { Statement } from './statement.ts';
import { headOf, tablesOf } from './statement-tables.ts';

/** Text stays text, whatever it looks like; a decimal of more than 15 digits is written as text, so that none is lost. */
export async function statementXlsx(
  statement: Statement,
  shipments: ShipmentLines | null,
  paper: PaperSize,
): Promise<Uint8Array> {
  const title = `${statement.sent_at === null ? 'Draft statement' : 'Statement'} of ${statement.period}`;
  const tables = tablesOf(statement);
  const rows: Row[] = [
    [{ value: title, fontWeight: 'bold', fontSize: 16 }],
    ...headOf(statement, 'on the sheet Shipments, which as CSV has').map(
      ([label, value]): Row => [bold(label), words(value)],
    ),
    ...tables.flatMap(({ title, about, columns, rows }): Row[] => [
      [],
      [{ value: title, fontWeight: 'bold', fontSize: 13 }],
      ...(about === '' ? [] : [[words(about)]]),
      ...(rows.length === 0 ? [] : [header(columns)]),
      ...rows.map((row): Row => columns.map((column) => cellOf(row[column.name] ?? null, column))),
    ]),
    [],
    [{ value: 'What this statement cannot say', fontWeight: 'bold', fontSize: 13 }],
    ...statement.cannot_say.flatMap((sentence) => linesOf(sentence).map((line): Row => [words(line)])),
  ];
  // A cell beside an empty one runs over it, so that sentences need no width; longer ones would run off the page.
  const widths = Array.from({ length: 9 }, (_, place) =>
    Math.max(
      14,
      ...tables.map(({ columns, rows }) => {
        const column = columns[place];
        return column === undefined ? 0 : widthOf({ rows }, column);
      }),
    ),
  );
  const onPaper = fitsPage(PAPER_NUMBERS[paper]);
  const page = { orientation: 'landscape' as const };
  const sheet = { data: rows, sheet: 'Statement', columns: widths.map((width) => ({ width })), ...page };
  if (shipments === null) return writeXlsxFile([sheet], { features: [onPaper] }).toBuffer();
  const lines = {
    data: [
      header(shipments.columns),
      ...shipments.rows.map(
        (row): Row => shipments.columns.map((column) => cellOf(row[column.name] ?? null, column)),
      ),
    ],
    sheet: 'Shipments',
    columns: shipments.columns.map((column) => ({ width: widthOf(shipments, column) })),
    ...{ stickyRowsCount: 1, ...page },
  };
  return writeXlsxFile([sheet, lines], { features: [filtered(1, shipments), onPaper] }).toBuffer();
}

/** As `fitsPage` takes them. */
const PAPER_NUMBERS: Readonly<Record<PaperSize, number>> = { a4: 9, letter: 1 };

const LONGEST_LINE = 120;

function linesOf(sentence: string): readonly string[] {
  return sentence.match(new RegExp(`.{1,${LONGEST_LINE}}(?=\\s|$)`, 'g'))?.map((line) => line.trim()) ?? [];
}

function header(columns: readonly ReportColumn[]): Row {
  return columns.map((column) => ({
    ...{ value: columnLabel(column), type: String, fontWeight: 'bold' as const },
    ...{ align: column.align, bottomBorderStyle: 'thin' as const },
  }));
}

function bold(value: string) {
  return { value, type: String, fontWeight: 'bold' as const };
}

function words(value: string) {
  return { value, type: String };
}
