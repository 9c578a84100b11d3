/** A statement on paper, A4 or Letter; its lines go with it as a CSV file, which it names by its SHA-256. */

import type { PaperSize } from './paper-sizes.ts';
import { UNKNOWN, unknownLetters } from './pdf/fonts.ts';
import { openPaper } from './pdf/paper.ts';
import type { Statement } from './statement.ts';
import { headOf, tablesOf } from './statement-tables.ts';

/** The same bytes for the same statement and paper. */
export async function statementPdf(statement: Statement, size: PaperSize): Promise<Uint8Array> {
  const { tenant, period, sent_at, published_at } = statement;
  const title = `${sent_at === null ? 'Draft statement' : 'Statement'} of ${period}`;
  const paper = openPaper(size, { title: `${title}, ${tenant}`, at: new Date(sent_at ?? published_at) });
  const head = headOf(statement);
  const tables = tablesOf(statement);
  paper.heading(title, 16);
  paper.labelled(head);
  for (const { title: of, about, columns, rows } of tables) {
    paper.heading(of, 11);
    if (about !== '') paper.words(about);
    if (rows.length > 0) paper.table(columns, rows);
  }
  paper.heading('What this statement cannot say', 11);
  const shown = [...head.flat(), ...tables.flatMap(({ rows }) => rows.flatMap((row) => Object.values(row)))];
  const unknown = unknownLetters(shown.map((cell) => String(cell ?? '')));
  const letters = unknown.map((letter) => `U+${letter.codePointAt(0)?.toString(16).toUpperCase()}`);
  const said = `Letters that its fonts lack: they are written as ${UNKNOWN} here, and whole in the other formats (${letters.join(', ')}).`;
  for (const sentence of [...statement.cannot_say, ...(unknown.length === 0 ? [] : [said])])
    paper.words(`– ${sentence}`);
  return paper.end(`${tenant} · ${period}${sent_at === null ? ' · draft' : ''}`);
}
