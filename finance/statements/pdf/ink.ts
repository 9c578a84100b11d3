/** Text on a page of pdfkit: measured, cut into lines and put where it belongs, in whichever fonts its letters need. */

import type PDFDocument from 'pdfkit';
import { runsOf, type Weight } from './fonts.ts';

export interface Style {
  readonly weight: Weight;
  /** In points. */
  readonly size: number;
}

export interface Ink {
  widthOf(text: string, style: Style): number;
  /** On one line, whose upper left corner this is. */
  put(text: string, x: number, y: number, style: Style): void;
  /** Lines no wider than `most` points; a word that is wider is cut. */
  wrapped(text: string, most: number, style: Style): readonly string[];
}

export function inkFor(document: InstanceType<typeof PDFDocument>): Ink {
  const widthOf = (text: string, { weight, size }: Style): number =>
    runsOf(text, weight).reduce(
      (sum, run) => sum + document.font(run.font).fontSize(size).widthOfString(run.text),
      0,
    );

  return {
    widthOf,
    put(text, x, y, { weight, size }) {
      let left = x;
      for (const run of runsOf(text, weight)) {
        document.font(run.font).fontSize(size).fillColor('#111111');
        document.text(run.text, left, y, { lineBreak: false });
        left += document.widthOfString(run.text);
      }
    },
    wrapped(text, most, style) {
      const isTooWide = (line: string): boolean => widthOf(line.trimEnd(), style) > most;
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
    },
  };
}
