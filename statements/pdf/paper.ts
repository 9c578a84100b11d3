/** A sheet of paper that text and tables are put on, one below the other, with as many pages as they need. */

import PDFDocument from 'pdfkit';
import { cellLabel, columnLabel } from '../../reports/render/labels.js';
import type { ReportColumn, ReportRow } from '../../reports/report-result.js';
import type { PaperSize } from '../paper-sizes.js';
import { registerFonts, runsOf, type Weight } from './fonts.js';

/** In points, a 72nd of an inch. */
const MARGIN = 40;
const GAP = 8;
const FOOT = 24;
const TEXT_SIZE = 8.5;
const LEADING = 1.3;

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
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise<void>((resolve, reject) => {
    document.on('end', resolve);
    document.on('error', reject);
  });
  const width = document.page.width - 2 * MARGIN;
  const bottom = document.page.height - MARGIN - FOOT;
  let y = MARGIN;

  const widthOf = (text: string, weight: Weight, of: number): number =>
    runsOf(text, weight).reduce(
      (sum, run) => sum + document.font(run.font).fontSize(of).widthOfString(run.text),
      0,
    );
  const put = (text: string, x: number, at: number, style: { weight: Weight; size: number }): void => {
    let left = x;
    for (const run of runsOf(text, style.weight)) {
      document.font(run.font).fontSize(style.size).fillColor('#111111');
      document.text(run.text, left, at, { lineBreak: false });
      left += document.widthOfString(run.text);
    }
  };
  const room = (height: number): boolean => {
    if (y + height <= bottom) return false;
    document.addPage();
    y = MARGIN;
    return true;
  };

  /** Lines no wider than `most`; a word that is wider is cut. */
  function wrapped(text: string, most: number, weight: Weight, of = TEXT_SIZE): readonly string[] {
    const lines: string[] = [];
    let line = '';
    for (const word of text.split(/(?<=\s)/)) {
      if (widthOf(`${line}${word}`.trimEnd(), weight, of) <= most) {
        line += word;
        continue;
      }
      if (line !== '') lines.push(line.trimEnd());
      line = '';
      for (const letter of word) {
        if (line !== '' && widthOf(`${line}${letter}`.trimEnd(), weight, of) > most) {
          lines.push(line);
          line = '';
        }
        line += letter;
      }
    }
    return [...lines, line.trimEnd()];
  }

  function row(cells: readonly Cell[], widths: readonly number[], weight: Weight): number {
    const lines = cells.map(({ text }, index) => wrapped(text, widths[index] ?? 0, weight));
    const height = Math.max(...lines.map(({ length }) => length)) * TEXT_SIZE * LEADING + 4;
    let x = MARGIN;
    for (const [index, cell] of cells.entries()) {
      const most = widths[index] ?? 0;
      for (const [place, line] of (lines[index] ?? []).entries()) {
        const indent = cell.isRight ? most - widthOf(line, weight, TEXT_SIZE) : 0;
        put(line, x + indent, y + 2 + place * TEXT_SIZE * LEADING, { weight, size: TEXT_SIZE });
      }
      x += most + GAP;
    }
    return height;
  }

  const heightOf = (cells: readonly Cell[], widths: readonly number[], weight: Weight): number =>
    Math.max(...cells.map(({ text }, index) => wrapped(text, widths[index] ?? 0, weight).length)) *
      TEXT_SIZE *
      LEADING +
    4;

  const rule = (): void => {
    document
      .moveTo(MARGIN, y)
      .lineTo(MARGIN + width, y)
      .lineWidth(0.5)
      .strokeColor('#888888')
      .stroke();
  };

  return {
    heading(text, of) {
      y += of;
      // A heading alone at the foot of a page would head nothing.
      room(of * LEADING + 4 * TEXT_SIZE * LEADING);
      for (const line of wrapped(text, width, 'bold', of)) {
        put(line, MARGIN, y, { weight: 'bold', size: of });
        y += of * LEADING;
      }
    },
    words(text) {
      for (const line of wrapped(text, width, 'plain')) {
        room(TEXT_SIZE * LEADING);
        put(line, MARGIN, y, { weight: 'plain', size: TEXT_SIZE });
        y += TEXT_SIZE * LEADING;
      }
    },
    labelled(pairs) {
      const label = Math.max(...pairs.map(([text]) => widthOf(text, 'bold', TEXT_SIZE))) + GAP;
      for (const [name, value] of pairs) {
        const lines = wrapped(value, width - label, 'plain');
        room(lines.length * TEXT_SIZE * LEADING);
        put(name, MARGIN, y, { weight: 'bold', size: TEXT_SIZE });
        for (const line of lines) {
          put(line, MARGIN + label, y, { weight: 'plain', size: TEXT_SIZE });
          y += TEXT_SIZE * LEADING;
        }
      }
    },
    table(columns, rows) {
      const header = columns.map((column) => ({
        text: columnLabel(column),
        isRight: column.align === 'right',
      }));
      const body = rows.map((each) =>
        columns.map((column) => ({
          text: cellLabel(each[column.name] ?? null, column),
          isRight: column.align === 'right',
        })),
      );
      const widths = widthsFor([header, ...body], width - GAP * (columns.length - 1), (text) =>
        widthOf(text, 'bold', TEXT_SIZE),
      );
      const head = (): void => {
        y += row(header, widths, 'bold');
        rule();
      };
      room(heightOf(header, widths, 'bold') + 2 * TEXT_SIZE * LEADING);
      head();
      for (const cells of body) {
        if (room(heightOf(cells, widths, 'plain'))) head();
        y += row(cells, widths, 'plain');
      }
      rule();
    },
    async end(foot) {
      const { count } = document.bufferedPageRange();
      for (let page = 0; page < count; page += 1) {
        document.switchToPage(page);
        const number = `${page + 1} / ${count}`;
        const at = document.page.height - MARGIN;
        put(foot, MARGIN, at, { weight: 'plain', size: 7 });
        put(number, MARGIN + width - widthOf(number, 'plain', 7), at, { weight: 'plain', size: 7 });
      }
      document.end();
      await ended;
      return Buffer.concat(chunks);
    },
  };
}

interface Cell {
  readonly text: string;
  readonly isRight: boolean;
}

/**
 * Widths of columns: what each needs when all have room. Else the narrow ones have what they need, so that no amount is cut,
 * and the wide ones share what is left.
 */
function widthsFor(
  rows: readonly (readonly Cell[])[],
  width: number,
  measure: (text: string) => number,
): readonly number[] {
  const [header = []] = rows;
  const needed = header.map((_, index) => {
    const longest = rows.reduce((found, cells) => {
      const text = cells[index]?.text ?? '';
      return text.length > found.length ? text : found;
    }, '');
    // The longest text is not always the widest.
    return Math.max(measure(longest), measure(header[index]?.text ?? '')) * 1.04 + 1;
  });
  const all = needed.reduce((sum, each) => sum + each, 0);
  if (all <= width) return needed.map((each) => each + ((width - all) * each) / all);
  let left = width;
  let open = needed.length;
  let most = width / Math.max(1, open);
  for (const each of [...needed].sort((one, other) => one - other)) {
    most = left / open;
    if (each > most) break;
    left -= each;
    open -= 1;
  }
  return needed.map((each) => Math.min(each, most));
}
