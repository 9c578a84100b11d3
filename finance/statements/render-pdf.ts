/** Lines of the statement are a separate CSV file, named by its SHA-256. */

import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import type { ReportColumn, ReportRow } from '../../reports/cells.ts';
import { columnLabel } from '../../reports/render/labels.ts';
import { registerFonts, runsOf, UNKNOWN, unknownLetters, type Weight } from './pdf-fonts.ts';
import type { PaperSize, Statement } from './statement.ts';
import { cellText, headOf, referencesOf, tablesOf } from './statement-tables.ts';

/** Returns the same bytes for the same statement and paper size. */
export async function statementPdf(statement: Statement, size: PaperSize): Promise<Uint8Array> {
  const { tenant, period, sent_at, published_at } = statement;
  const title = `${sent_at === null ? 'Draft statement' : 'Statement'} of ${period}`;
  const paper = new Paper(size, { title: `${title}, ${tenant}`, at: new Date(sent_at ?? published_at) });
  const head = headOf(statement);
  const references = referencesOf(statement);
  const tables = tablesOf(statement);
  const { sender = null, address = '', logo = null } = statement.head ?? {};
  const letterhead = sender === null ? [] : [sender.name, ...sender.address.split('\n')];
  const addressed = address === '' ? [] : [tenant, ...address.split('\n')];
  if (logo !== null) paper.logo(Buffer.from(logo, 'base64'));
  for (const lines of [letterhead, addressed].filter((each) => each.length > 0)) {
    for (const line of lines) paper.text(line);
    paper.text('');
  }
  paper.heading(title, 16);
  paper.labelled(head);
  const write = (of: typeof tables): void => {
    for (const { title: name, about, columns, rows } of of) {
      paper.heading(name, 11);
      if (about !== '') paper.text(about);
      if (rows.length > 0) paper.table(columns, rows);
    }
  };
  write(tables.filter(({ isReference }) => isReference !== true));
  paper.page();
  paper.heading('References', 11);
  paper.labelled(references);
  write(tables.filter(({ isReference }) => isReference === true));
  paper.heading('Limits of this statement', 11);
  const cells = [
    ...letterhead,
    ...addressed,
    ...head.flat(),
    ...references.flat(),
    ...tables.flatMap(({ rows }) => rows.flatMap((row) => Object.values(row))),
  ];
  const unknown = unknownLetters(cells.map((cell) => String(cell ?? '')));
  const letters = unknown.map((letter) => `U+${letter.codePointAt(0)?.toString(16).toUpperCase()}`);
  const missing = `Letters that its fonts lack: they are replaced by ${UNKNOWN} here, and complete in the other formats (${letters.join(', ')}).`;
  for (const sentence of [...statement.limits, ...(unknown.length === 0 ? [] : [missing])])
    paper.text(`– ${sentence}`);
  return paper.end(`${tenant} · ${period}${sent_at === null ? ' · draft' : ''}`);
}

/** Lengths are in points (1/72 inch). */
const MARGIN = 40;
const GAP = 8;
const FOOT = 24;
const LEADING = 1.3;
const PLAIN: Style = { weight: 'plain', size: 8.5 };
const BOLD: Style = { weight: 'bold', size: 8.5 };
const SMALL: Style = { weight: 'plain', size: 7 };
const LINE = PLAIN.size * LEADING;

interface Style {
  readonly weight: Weight;
  readonly size: number;
}

export class Paper {
  readonly #document: InstanceType<typeof PDFDocument>;
  readonly #written: Promise<Buffer>;
  readonly #width: number;
  readonly #bottom: number;
  #y = MARGIN;

  /** @param about.at the creation date in the document, which is the statement's, so that it always has the same bytes */
  constructor(size: PaperSize, about: { readonly title: string; readonly at: Date }) {
    this.#document = new PDFDocument({
      size: size === 'a4' ? 'A4' : 'LETTER',
      // With a margin pdfkit begins a page where text comes near an edge.
      margin: 0,
      bufferPages: true,
      lang: 'en',
      displayTitle: true,
      info: { Title: about.title, Producer: 'billsync', Creator: 'billsync', CreationDate: about.at },
    });
    registerFonts(this.#document);
    this.#written = buffer(this.#document);
    this.#width = this.#document.page.width - 2 * MARGIN;
    this.#bottom = this.#document.page.height - MARGIN - FOOT;
  }

  page(): void {
    this.#document.addPage();
    this.#y = MARGIN;
  }

  /** @throws Error the bytes are no JPEG */
  logo(jpeg: Uint8Array): void {
    const [width, height] = [150, 50];
    const options = { fit: [width, height], align: 'right' } satisfies PDFKit.Mixins.ImageOption;
    this.#document.image(Buffer.from(jpeg), MARGIN + this.#width - width, MARGIN - GAP, options);
  }

  heading(text: string, size: number): void {
    const style: Style = { weight: 'bold', size };
    this.#y += size;
    // Keeps a heading on the page of its table.
    this.#makeRoom(size * LEADING + 4 * LINE);
    for (const line of this.#wrapped(text, this.#width, style)) {
      this.#put(line, MARGIN, this.#y, style);
      this.#y += size * LEADING;
    }
  }

  text(text: string): void {
    for (const line of this.#wrapped(text, this.#width, PLAIN)) {
      this.#makeRoom(LINE);
      this.#put(line, MARGIN, this.#y, PLAIN);
      this.#y += LINE;
    }
  }

  labelled(pairs: readonly (readonly [string, string])[]): void {
    const label = Math.max(...pairs.map(([text]) => this.#widthOf(text, BOLD))) + GAP;
    for (const [name, value] of pairs) {
      const lines = this.#wrapped(value, this.#width - label, PLAIN);
      this.#makeRoom(lines.length * LINE);
      this.#put(name, MARGIN, this.#y, BOLD);
      for (const line of lines) {
        this.#put(line, MARGIN + label, this.#y, PLAIN);
        this.#y += LINE;
      }
    }
  }

  table(columns: readonly ReportColumn[], rows: readonly ReportRow[]): void {
    const cellOf = (text: string, { align }: ReportColumn): Cell => ({ text, isRight: align === 'right' });
    const header = columns.map((column) => cellOf(columnLabel(column), column));
    const body = rows.map((row) => columns.map((column) => cellOf(cellText(row, column), column)));
    const widths = widthsFor([header, ...body], this.#width - GAP * (columns.length - 1), (text) =>
      this.#widthOf(text, BOLD),
    );
    const head = this.#linesOf(header, widths, BOLD);
    const putHead = (): void => {
      this.#putRow(head);
      this.#rule();
    };
    this.#makeRoom(head.height + 2 * LINE);
    putHead();
    for (const cells of body) {
      const row = this.#linesOf(cells, widths, PLAIN);
      if (this.#makeRoom(row.height)) putHead();
      this.#putRow(row);
    }
    this.#rule();
  }

  async end(foot: string): Promise<Buffer> {
    const { count } = this.#document.bufferedPageRange();
    for (let page = 0; page < count; page += 1) {
      this.#document.switchToPage(page);
      const number = `${page + 1} / ${count}`;
      const y = this.#document.page.height - MARGIN;
      this.#put(foot, MARGIN, y, SMALL);
      this.#put(number, MARGIN + this.#width - this.#widthOf(number, SMALL), y, SMALL);
    }
    this.#document.end();
    return this.#written;
  }

  #makeRoom(height: number): boolean {
    if (this.#y + height <= this.#bottom) return false;
    this.page();
    return true;
  }

  #linesOf(cells: readonly Cell[], widths: readonly number[], style: Style): TableRow {
    const wrapped = cells.map((cell, index) => {
      const width = widths[index] ?? 0;
      return { ...cell, width, lines: this.#wrapped(cell.text, width, style) };
    });
    const height = Math.max(...wrapped.map(({ lines }) => lines.length)) * LINE + 4;
    return { cells: wrapped, height, style };
  }

  #putRow({ cells, height, style }: TableRow): void {
    let x = MARGIN;
    for (const { lines, width, isRight } of cells) {
      for (const [place, line] of lines.entries()) {
        const indent = isRight ? width - this.#widthOf(line, style) : 0;
        this.#put(line, x + indent, this.#y + 2 + place * LINE, style);
      }
      x += width + GAP;
    }
    this.#y += height;
  }

  #rule(): void {
    this.#document
      .moveTo(MARGIN, this.#y)
      .lineTo(MARGIN + this.#width, this.#y)
      .lineWidth(0.5)
      .strokeColor('#888888')
      .stroke();
  }

  #widthOf(text: string, { weight, size }: Style): number {
    return runsOf(text, weight).reduce(
      (sum, run) => sum + this.#document.font(run.font).fontSize(size).widthOfString(run.text),
      0,
    );
  }

  #put(text: string, x: number, y: number, { weight, size }: Style): void {
    let left = x;
    for (const run of runsOf(text, weight)) {
      this.#document.font(run.font).fontSize(size).fillColor('#111111');
      this.#document.text(run.text, left, y, { lineBreak: false });
      left += this.#document.widthOfString(run.text);
    }
  }

  #wrapped(text: string, max: number, style: Style): readonly string[] {
    const isTooWide = (line: string): boolean => this.#widthOf(line.trimEnd(), style) > max;
    const lines: string[] = [];
    let line = '';
    for (const word of text.split(/(?<=\s)/)) {
      if (!isTooWide(`${line}${word}`)) {
        line += word;
        continue;
      }
      if (line !== '') lines.push(line.trimEnd());
      line = '';
      for (const letter of word) {
        if (line !== '' && isTooWide(`${line}${letter}`)) {
          lines.push(line);
          line = '';
        }
        line += letter;
      }
    }
    return [...lines, line.trimEnd()];
  }
}

interface Cell {
  readonly text: string;
  readonly isRight: boolean;
}

interface TableRow {
  readonly cells: readonly (Cell & { readonly width: number; readonly lines: readonly string[] })[];
  readonly height: number;
  readonly style: Style;
}

/**
 * When there is not enough room for all, narrow columns keep their width, so that no amount is cut, and wide
 * ones share the rest.
 */
function widthsFor(
  rows: readonly (readonly { readonly text: string }[])[],
  width: number,
  measure: (text: string) => number,
): readonly number[] {
  const [header = []] = rows;
  const needed = header.map((_, index) => {
    const longest = rows.reduce((found, cells) => {
      const text = cells[index]?.text ?? '';
      return text.length > found.length ? text : found;
    }, '');
    // The text with the most letters is not always the widest, so the column gets a little more.
    return Math.max(measure(longest), measure(header[index]?.text ?? '')) * 1.04 + 1;
  });
  const all = needed.reduce((sum, each) => sum + each, 0);
  if (all <= width) return needed.map((each) => each + ((width - all) * each) / all);
  let left = width;
  let open = needed.length;
  let max = width / Math.max(1, open);
  for (const each of [...needed].sort((one, other) => one - other)) {
    max = left / open;
    if (each > max) break;
    left -= each;
    open -= 1;
  }
  return needed.map((each) => Math.min(each, max));
}
