/** XLSX (ECMA-376) row by row: a sheet of a million rows takes no more memory than one of ten. */

import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { ReportError } from '../errors.ts';

export interface CellStyle {
  readonly format?: string;
  readonly bold?: boolean;
  /** The size of the font in points; the default is 11. */
  readonly size?: number;
  readonly align?: 'left' | 'right';
  readonly isTop?: boolean;
  readonly wraps?: boolean;
  readonly hasLineBelow?: boolean;
}

/** Text is stored as text, never as a formula. A date is its midnight in UTC. */
export type Cell = ({ readonly value: string | number | boolean | Date } & CellStyle) | null;
export type Row = readonly Cell[];

export interface Sheet {
  readonly name: string;
  readonly rows: Iterable<Row> | AsyncIterable<Row>;
  readonly widths: readonly number[];
  readonly hasHeader?: boolean;
  /** Returns the number of rows below the header that can be filtered, and is called after the last row; null adds no filter. */
  readonly filteredRows?: () => number | null;
}

export const PAPER_NUMBERS = { a4: 9, letter: 1 } as const;

const MAX_ROWS = 1_048_576;
const MAX_CELL_LENGTH = 32_767;
/** Further texts, such as tracking numbers, are stored in their cells. */
const MAX_SHARED = 50_000;
/** The time in the ZIP is constant, so that equal content gives equal bytes. */
const ZIP_TIME = { mtime: new Date(2000, 0, 1), forceDosTimestamp: true } as const;
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/**
 * The workbook is printed in landscape, as wide as the page. @throws ReportError from the stream: too many rows or characters for
 * the format
 */
export function writeWorkbook(
  sheets: readonly Sheet[],
  paper: keyof typeof PAPER_NUMBERS = 'a4',
): AsyncIterable<Uint8Array> {
  const zip = new ZipFile();
  const used: Used = { styles: collectStyles(), texts: new Map() };
  const add = (name: string, parts: Iterable<string> | AsyncIterable<string>): void =>
    zip.addReadStreamLazy(name, ZIP_TIME, (begin) => {
      const stream = Readable.from(parts);
      stream.once('error', (error) => zip.emit('error', error));
      begin(null, stream);
    });
  const names = sheets.map((_, index) => `sheet${index + 1}.xml`);
  add('[Content_Types].xml', [
    `${HEAD}<Types xmlns="${PACKAGE}/content-types">`,
    `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>`,
    `<Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/>`,
    ...names.map(
      (name) => `<Override PartName="/xl/worksheets/${name}" ContentType="${TYPE}.worksheet+xml"/>`,
    ),
    `<Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/>`,
    `<Override PartName="/xl/sharedStrings.xml" ContentType="${TYPE}.sharedStrings+xml"/></Types>`,
  ]);
  add('_rels/.rels', [
    `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">`,
    `<Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  ]);
  add('xl/workbook.xml', [
    `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>`,
    ...sheets.map(
      ({ name }, index) => `<sheet name="${escaped(name)}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`,
    ),
    '</sheets></workbook>',
  ]);
  add('xl/_rels/workbook.xml.rels', [
    `${HEAD}<Relationships xmlns="${PACKAGE}/relationships">`,
    ...names.map(
      (name, index) =>
        `<Relationship Id="rId${index + 1}" Type="${RELATIONS}/worksheet" Target="worksheets/${name}"/>`,
    ),
    `<Relationship Id="rId${names.length + 1}" Type="${RELATIONS}/styles" Target="styles.xml"/>`,
    `<Relationship Id="rId${names.length + 2}" Type="${RELATIONS}/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
  ]);
  for (const [index, sheet] of sheets.entries())
    add(`xl/worksheets/${names[index]}`, sheetXml(sheet, { paper, used }));
  // The styles are written last, because the sheets determine them.
  add('xl/styles.xml', stylesXml(used.styles));
  add('xl/sharedStrings.xml', textsXml(used.texts));
  zip.end();
  const bytes = zip.outputStream as Readable;
  zip.on('error', (error: Error) => bytes.destroy(error));
  return bytes;
}

async function* sheetXml(
  { name, rows, widths, hasHeader = false, filteredRows }: Sheet,
  { paper, used }: { readonly paper: keyof typeof PAPER_NUMBERS; readonly used: Used },
): AsyncGenerator<string> {
  const frozen = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>';
  yield [
    `${HEAD}<worksheet xmlns="${MAIN}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>`,
    `<sheetViews><sheetView workbookViewId="0">${hasHeader ? frozen : ''}</sheetView></sheetViews><cols>`,
    ...widths.map(
      (width, index) => `<col min="${index + 1}" max="${index + 1}" width="${width}" customWidth="1"/>`,
    ),
    '</cols><sheetData>',
  ].join('');
  const letters = widths.map((_, index) => columnLetters(index + 1));
  let part = '';
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (count > MAX_ROWS)
      throw new ReportError('workbook-limit', [`Sheet ${name} has more than the ${MAX_ROWS} rows`]);
    part += `<row r="${count}">`;
    for (let at = 0; at < row.length; at += 1) {
      const cell = row[at] ?? null;
      if (cell !== null) part += cellXml(cell, `${letters[at] ?? columnLetters(at + 1)}${count}`, used);
    }
    part += '</row>';
    if (part.length > 64_000) {
      yield part;
      part = '';
    }
  }
  const filtered = filteredRows?.() ?? null;
  const range = `A1:${columnLetters(widths.length)}${(filtered ?? 0) + 1}`;
  yield [
    `${part}</sheetData>${filtered === null ? '' : `<autoFilter ref="${range}"/>`}`,
    `<pageSetup paperSize="${PAPER_NUMBERS[paper]}" orientation="landscape" fitToWidth="1" fitToHeight="0"/></worksheet>`,
  ].join('');
}

function cellXml(cell: NonNullable<Cell>, place: string, { styles, texts }: Used): string {
  const { value } = cell;
  const style = styles.numberOf(cell);
  const marks = style === 0 ? `r="${place}"` : `r="${place}" s="${style}"`;
  if (typeof value === 'number') return `<c ${marks}><v>${value}</v></c>`;
  if (typeof value === 'boolean') return `<c ${marks} t="b"><v>${value ? 1 : 0}</v></c>`;
  // A date is stored as a number of days, and 1970-01-01 is day 25569.
  if (value instanceof Date) return `<c ${marks}><v>${value.getTime() / 86_400_000 + 25_569}</v></c>`;
  if (value.length > MAX_CELL_LENGTH)
    throw new ReportError('workbook-limit', [
      `Cell ${place} has more than the ${MAX_CELL_LENGTH} characters`,
    ]);
  const known = texts.get(value) ?? (texts.size < MAX_SHARED ? texts.size : null);
  if (known !== null) {
    texts.set(value, known);
    return `<c ${marks} t="s"><v>${known}</v></c>`;
  }
  return `<c ${marks} t="inlineStr"><is><t xml:space="preserve">${escapedText(value)}</t></is></c>`;
}

function columnLetters(column: number): string {
  const rest = Math.floor((column - 1) / 26);
  return `${rest === 0 ? '' : columnLetters(rest)}${String.fromCharCode(65 + ((column - 1) % 26))}`;
}

/** XML 1.0 cannot contain these; ST_Xstring writes them as `_xHHHH_`. */
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/gu;

/** Text that looks like such an escape is escaped, or readers would undo it (ECMA-376, 22.9.2.19). */
function escapedText(text: string): string {
  return escaped(text.replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_'));
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\r', '&#13;')
    .replace(
      UNWRITABLE,
      (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    );
}

interface Used {
  readonly styles: Styles;
  readonly texts: Map<string, number>;
}

function* textsXml(texts: Used['texts']): Generator<string> {
  yield `${HEAD}<sst xmlns="${MAIN}" uniqueCount="${texts.size}">`;
  for (const text of texts.keys()) yield `<si><t xml:space="preserve">${escapedText(text)}</t></si>`;
  yield '</sst>';
}

interface Styles {
  numberOf(style: CellStyle): number;
  readonly all: readonly CellStyle[];
}

function collectStyles(): Styles {
  const all: CellStyle[] = [{}];
  const numbers = new Map<string, number>([[keyOf({}), 0]]);
  return {
    all,
    numberOf(style) {
      const key = keyOf(style);
      const known = numbers.get(key);
      if (known !== undefined) return known;
      numbers.set(key, all.length);
      return all.push(style) - 1;
    },
  };
}

function keyOf({ format, bold, size, align, isTop, wraps, hasLineBelow }: CellStyle): string {
  return `${format ?? ''}|${bold ?? ''}|${size ?? ''}|${align ?? ''}|${isTop ?? ''}|${wraps ?? ''}|${hasLineBelow ?? ''}`;
}

/** Each style has its own font and number format; custom formats begin at 164. */
function* stylesXml({ all }: Styles): Generator<string> {
  const list = (name: string, items: readonly string[]): string =>
    `<${name} count="${items.length}">${items.join('')}</${name}>`;
  const font = ({ bold, size = 11 }: CellStyle): string =>
    `<font>${bold === true ? '<b/>' : ''}<sz val="${size}"/><name val="Calibri"/><family val="2"/></font>`;
  const line = '<border><left/><right/><top/><bottom style="thin"/><diagonal/></border>';
  yield `${HEAD}<styleSheet xmlns="${MAIN}">`;
  yield list(
    'numFmts',
    all.map(
      ({ format = 'General' }, index) =>
        `<numFmt numFmtId="${164 + index}" formatCode="${escaped(format)}"/>`,
    ),
  );
  yield list('fonts', all.map(font));
  yield '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>';
  yield `<borders count="2"><border><left/><right/><top/><bottom/><diagonal/></border>${line}</borders>`;
  yield '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>';
  yield list(
    'cellXfs',
    all.map(({ format, align, isTop, wraps, hasLineBelow }, index) => {
      const alignment = [
        align === undefined ? '' : ` horizontal="${align}"`,
        isTop === true ? ' vertical="top"' : '',
        wraps === true ? ' wrapText="1"' : '',
      ].join('');
      const number = format === undefined ? 0 : 164 + index;
      return `<xf numFmtId="${number}" fontId="${index}" fillId="0" borderId="${hasLineBelow === true ? 1 : 0}" xfId="0" applyNumberFormat="1" applyFont="1" applyBorder="1" applyAlignment="1"><alignment${alignment}/></xf>`;
    }),
  );
  yield '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>';
}
