/**
 * The worked example of a report, as it stands in its header: a few lines, and the rows they must give.
 *
 * ```
 * -- example: 8 and 12, less a credit of 2, are 18; divided by two packages 9 each.
 * --   lines: carrier | tracking_number | billing_cost
 * --   ups | A | 8
 * --   ups | B | 12
 * --   ups | A | -2
 * --   rows: carrier | billing_cost
 * --   ups | 18.0000
 * ```
 *
 * The first text says how the answer is worked out. `lines` are the lines of the invoice files by column of the view
 * `shipments`, `invoices` what their headers say; what is left out does not matter to the answer. Further tables are
 * the files a report joins, `with` are its parameters, `published` the instant of the publication. An empty cell is
 * null. A test computes every example, so that no description can say what its report does not do.
 */

import type { ExtraTable } from './catalogue.ts';

export interface ExampleTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface WorkedExample {
  readonly text: string;
  readonly invoices: ExampleTable | null;
  readonly lines: ExampleTable;
  readonly files: Readonly<Partial<Record<ExtraTable, ExampleTable>>>;
  readonly parameters: Readonly<Record<string, string>>;
  readonly publishedAt: string | null;
  /** The columns that are shown of the answer, and its rows in their order. */
  readonly rows: ExampleTable;
}

/** @param lines of the header below `example:`, the text first. @throws Error when they are no example */
export function exampleOf(
  report: string,
  lines: readonly string[],
  extraTables: readonly ExtraTable[],
): WorkedExample | null {
  if (lines.length === 0) return null;
  const tables = new Map<string, { columns: string[]; rows: string[][] }>();
  const words = new Map<string, string>();
  const text: string[] = [];
  let current: string[][] | null = null;
  for (const line of lines) {
    const start = /^(\w+): (.*)$/.exec(line);
    const keyword = start?.[1] ?? '';
    const rest = start?.[2] ?? '';
    if (keyword === 'with' || keyword === 'published') words.set(keyword, rest);
    else if (['lines', 'invoices', 'rows', ...extraTables].includes(keyword)) {
      current = [];
      tables.set(keyword, { columns: cellsOf(rest), rows: current });
    } else if (current) current.push(cellsOf(line));
    else text.push(line);
  }
  const rows = tables.get('rows');
  if (!rows) throw new Error(`Report ${report}: its example does not say which rows it gives.`);
  for (const [keyword, { columns, rows: given }] of tables) {
    const odd = given.find((cells) => cells.length !== columns.length);
    if (odd) throw new Error(`Report ${report}: "${odd.join(' | ')}" is no row of the example's ${keyword}.`);
  }
  return {
    text: text.join(' '),
    invoices: tables.get('invoices') ?? null,
    lines: tables.get('lines') ?? { columns: [], rows: [] },
    files: Object.fromEntries(
      extraTables.flatMap((name) => {
        const table = tables.get(name);
        return table ? [[name, table]] : [];
      }),
    ),
    parameters: Object.fromEntries(
      (words.get('with') ?? '')
        .split(',')
        .filter((item) => item.trim() !== '')
        .map((item) => {
          const [name = '', ...value] = item.split('=');
          return [name.trim(), value.join('=').trim()];
        }),
    ),
    publishedAt: words.get('published') ?? null,
    rows,
  };
}

function cellsOf(line: string): string[] {
  return line.split('|').map((cell) => cell.trim());
}

/** The tables of an example with what each is called, in the order in which they are read. */
export function exampleTables(example: WorkedExample): (ExampleTable & { readonly caption: string })[] {
  const tables = [
    ...(example.invoices ? [{ caption: 'Invoices', ...example.invoices }] : []),
    ...(example.lines.columns.length > 0 ? [{ caption: 'Lines of the files', ...example.lines }] : []),
    ...Object.entries(example.files).map(([name, table]) => ({ caption: `--${name}`, ...table })),
    { caption: 'What the report answers', ...example.rows },
  ];
  return tables;
}
