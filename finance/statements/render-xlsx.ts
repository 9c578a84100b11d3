import { buffer } from 'node:stream/consumers';
import type { ReportColumn } from '../../reports/cells.ts';
import { columnLabel } from '../../reports/render/labels.ts';
import { type Row, type Sheet, writeWorkbook } from '../../reports/render/workbook.ts';
import { rowOf, widthOf } from '../../reports/render/xlsx-file.ts';
import type { PaperSize, ShipmentLines, Statement } from './statement.ts';
import { headOf, referencesOf, tablesOf, withOwnScale } from './statement-tables.ts';

export async function statementXlsx(
  statement: Statement,
  shipments: ShipmentLines | null,
  paper: PaperSize,
): Promise<Uint8Array> {
  const title = `${statement.sent_at === null ? 'Draft statement' : 'Statement'} of ${statement.period}`;
  const tables = tablesOf(statement);
  const { sender = null, address = '' } = statement.head ?? {};
  const letterhead = [sender?.name ?? '', sender?.address ?? '', address].flatMap((text) => text.split('\n'));
  const labelled = ([label, value]: readonly [string, string]): Row => [
    { value: label, bold: true },
    { value },
  ];
  const rows: Row[] = [
    ...letterhead.filter((line) => line !== '').map((value): Row => [{ value }]),
    [{ value: title, bold: true, size: 16 }],
    ...headOf(statement).map(labelled),
    ...tables.flatMap(({ title, about, columns, rows, isReference }): Row[] => [
      [],
      ...(isReference === true
        ? referencesOf(statement, 'on the sheet Shipments, which as CSV has').map(labelled)
        : []),
      [{ value: title, bold: true, size: 13 }],
      ...(about === '' ? [] : [[{ value: about }]]),
      ...(rows.length === 0 ? [] : [header(columns)]),
      ...rows.map((row) =>
        rowOf(
          row,
          columns.map((column) => withOwnScale(column, row)),
        ),
      ),
    ]),
    [],
    [{ value: 'Limits of this statement', bold: true, size: 13 }],
    ...statement.limits.flatMap((sentence) => linesOf(sentence).map((value): Row => [{ value }])),
  ];
  // Text runs over empty cells, so sentences need no width; longer ones would leave the page.
  const widths = Array.from({ length: 9 }, (_, place) =>
    Math.max(
      14,
      ...tables.map(({ columns, rows }) => {
        const column = columns[place];
        return column === undefined ? 0 : widthOf({ rows }, column);
      }),
    ),
  );
  const sheets: Sheet[] = [{ name: 'Statement', rows, widths }];
  if (shipments !== null)
    sheets.push({
      name: 'Shipments',
      rows: [header(shipments.columns), ...shipments.rows.map((row) => rowOf(row, shipments.columns))],
      widths: shipments.columns.map((column) => widthOf(shipments, column)),
      hasHeader: true,
      filteredRows: () => shipments.rows.length,
    });
  return buffer(writeWorkbook(sheets, paper));
}

const MAX_LINE_LENGTH = 120;

function linesOf(sentence: string): readonly string[] {
  return (
    sentence.match(new RegExp(`.{1,${MAX_LINE_LENGTH}}(?=\\s|$)`, 'g'))?.map((line) => line.trim()) ?? []
  );
}

function header(columns: readonly ReportColumn[]): Row {
  return columns.map((column) => ({
    ...{ value: columnLabel(column), bold: true, align: column.align, hasLineBelow: true },
  }));
}
