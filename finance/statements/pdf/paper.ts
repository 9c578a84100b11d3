/** A sheet of paper that text and tables are put on, one below the other, with as many pages as they need. */

import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import { cellLabel, columnLabel } from '../../../reports/render/labels.ts';
import type { ReportColumn, ReportRow } from '../../../reports/report-result.ts';
import type { PaperSize } from '../paper-sizes.ts';
import { widthsFor } from './column-widths.ts';
import { registerFonts } from './fonts.ts';
import { type Ink, inkFor, type Style } from './ink.ts';

/** In points, a 72nd of an inch. */
const MARGIN = 40;
const GAP = 8;
const FOOT = 24;
const LEADING = 1.3;
const PLAIN: Style = { weight: 'plain', size: 8.5 };
const BOLD: Style = { weight: 'bold', size: 8.5 };
const SMALL: Style = { weight: 'plain', size: 7 };
const LINE = PLAIN.size * LEADING;

export interface Paper {
  heading(text: string, size: number): void;
  /** Wrapped at the edge of the paper. */
  words(text: string): void;
  labelled(pairs: readonly (readonly [string, string])[]): void;
  table(columns: readonly ReportColumn[], rows: readonly ReportRow[]): void;
  /** @param foot stands on each page, beside its number */
  end(foot: string): Promise<Buffer>;
}

/** @param about.at instant that stands in the file, so that one statement is always the same bytes */
export function openPaper(size: PaperSize, about: { readonly title: string; readonly at: Date }): Paper {
  const document = new PDFDocument({
    size: size === 'a4' ? 'A4' : 'LETTER',
    // pdfkit would begin a page of its own where text comes near an edge.
    margin: 0,
    bufferPages: true,
    lang: 'en',
    displayTitle: true,
    info: { Title: about.title, Producer: 'billsync', Creator: 'billsync', CreationDate: about.at },
  });
  registerFonts(document);
  return new PdfPaper(document);
}

type Document = InstanceType<typeof PDFDocument>;

class PdfPaper implements Paper {
  readonly #document: Document;
  readonly #ink: Ink;
  readonly #written: Promise<Buffer>;
  readonly #width: number;
  readonly #bottom: number;
  /** Where the next line begins, in points from the upper edge. */
  #y = MARGIN;

  constructor(document: Document) {
    this.#document = document;
    this.#ink = inkFor(document);
    this.#written = buffer(document);
    this.#width = document.page.width - 2 * MARGIN;
    this.#bottom = document.page.height - MARGIN - FOOT;
  }

  heading(text: string, size: number): void {
    const style: Style = { weight: 'bold', size };
    this.#y += size;
    // A heading alone at the foot of a page would head nothing.
    this.#makeRoom(size * LEADING + 4 * LINE);
    for (const line of this.#ink.wrapped(text, this.#width, style)) {
      this.#ink.put(line, MARGIN, this.#y, style);
      this.#y += size * LEADING;
    }
  }

  words(text: string): void {
    for (const line of this.#ink.wrapped(text, this.#width, PLAIN)) {
      this.#makeRoom(LINE);
      this.#ink.put(line, MARGIN, this.#y, PLAIN);
      this.#y += LINE;
    }
  }

  labelled(pairs: readonly (readonly [string, string])[]): void {
    const label = Math.max(...pairs.map(([text]) => this.#ink.widthOf(text, BOLD))) + GAP;
    for (const [name, value] of pairs) {
      const lines = this.#ink.wrapped(value, this.#width - label, PLAIN);
      this.#makeRoom(lines.length * LINE);
      this.#ink.put(name, MARGIN, this.#y, BOLD);
      for (const line of lines) {
        this.#ink.put(line, MARGIN + label, this.#y, PLAIN);
        this.#y += LINE;
      }
    }
  }

  table(columns: readonly ReportColumn[], rows: readonly ReportRow[]): void {
    const cellOf = (text: string, { align }: ReportColumn): Cell => ({ text, isRight: align === 'right' });
    const header = columns.map((column) => cellOf(columnLabel(column), column));
    const body = rows.map((row) =>
      columns.map((column) => cellOf(cellLabel(row[column.name] ?? null, column), column)),
    );
    const widths = widthsFor([header, ...body], this.#width - GAP * (columns.length - 1), (text) =>
      this.#ink.widthOf(text, BOLD),
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
      this.#ink.put(foot, MARGIN, y, SMALL);
      this.#ink.put(number, MARGIN + this.#width - this.#ink.widthOf(number, SMALL), y, SMALL);
    }
    this.#document.end();
    return this.#written;
  }

  /** Begins a page when so much does not fit on this one. @returns whether it did */
  #makeRoom(height: number): boolean {
    if (this.#y + height <= this.#bottom) return false;
    this.#document.addPage();
    this.#y = MARGIN;
    return true;
  }

  /** The cells cut into lines, and how high they stand together. */
  #linesOf(cells: readonly Cell[], widths: readonly number[], style: Style): TableRow {
    const wrapped = cells.map((cell, index) => {
      const width = widths[index] ?? 0;
      return { ...cell, width, lines: this.#ink.wrapped(cell.text, width, style) };
    });
    const height = Math.max(...wrapped.map(({ lines }) => lines.length)) * LINE + 4;
    return { cells: wrapped, height, style };
  }

  #putRow({ cells, height, style }: TableRow): void {
    let x = MARGIN;
    for (const { lines, width, isRight } of cells) {
      for (const [place, line] of lines.entries()) {
        const indent = isRight ? width - this.#ink.widthOf(line, style) : 0;
        this.#ink.put(line, x + indent, this.#y + 2 + place * LINE, style);
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
