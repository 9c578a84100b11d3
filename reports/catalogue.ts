/**
 * The list of reports: a file in `sql/` with a header comment is a report, nothing else registers it.
 *
 * A header is lines of `-- key: value` at the top of the file; a line that is indented by two spaces after the
 * dashes continues the value above it. Keys:
 *
 * - `title` of the report; `grain` of a row
 * - `purpose` what it is for, and its place among those of one purpose: `Spend, 1`
 * - `params` one per line: `$name type = default: what it does` (`integer`, `decimal`, `text`, `date`, `instant`, or the
 *   values it may have, `month|week`; `month|tenant+` takes several, joined by +);
 *   the default may be left out when the query treats null as "not given"
 * - `means` how to read the numbers; `order` how the rows are sorted; `cannot say` what they must not be taken for
 * - `units` comma-separated `column unit`; the unit `money` is the row's `currency_code`
 * - `detail` columns that only the wide forms show: a terminal leaves them out when they do not fit
 * - `chart` what an HTML page draws: `bar|line|stack|heatmap|waterfall` and its columns as `role=column`
 * - `source` the tables it joins beside the published ones, each a CSV file (see `optional-tables.ts`)
 * - `shown` columns that exist only for a value of the parameter `by`: `service_level service`
 * - `drilldown` the rows that a number counts (see `drilldown.ts`), one per line
 * - `example` a worked example (see `worked-example.ts`)
 */

import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { type Drilldown, parseDrilldowns } from './drilldown.ts';
import { ReportError } from './errors.ts';
import { nearestNames } from './nearest-names.ts';

export const PARAMETER_TYPES = ['integer', 'decimal', 'text', 'date', 'instant'] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

/** The files a person may add: each is a table with this name, from `--NAME FILE` or `user/report-files/NAME.csv`. */
export const EXTRA_TABLES = [
  'rates',
  'weights',
  'costs',
  'accepted',
  'payments',
  'statements',
  'disputes',
  'budget',
  'fx',
] as const;
export type ExtraTable = (typeof EXTRA_TABLES)[number];

export interface ReportParameter {
  readonly name: string;
  readonly type: ParameterType;
  /** Allowed values; null: any. */
  readonly choices: readonly string[] | null;
  /** true: it may be several of them, joined by +. */
  readonly takesSeveral: boolean;
  /** Text as a person would type it; null: nothing is bound unless it is given. */
  readonly default: string | null;
  readonly about: string;
}

export const CHART_KINDS = ['bar', 'line', 'stack', 'heatmap', 'waterfall'] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export interface ChartSpec {
  readonly kind: ChartKind;
  /**
   * Column names by role: `key`, `value`, and for some kinds `series` or `y`; `a+b` names two that stand together.
   * `combine=sum` adds up rows of one place; without it a place must have one value.
   */
  readonly roles: Readonly<Record<string, string>>;
}

/** Purposes of reports, in the order of the catalogue. */
export const PURPOSES = {
  Spend: 'what shipping costs, by whatever you ask for',
  Change: 'what moved between two periods, and why',
  Audit: 'which charges to question',
  'Month end': 'what to reconcile, to accrue and to pay',
  Health: 'whether invoices and files are complete and in order',
} as const;
export type Purpose = keyof typeof PURPOSES;

export interface ReportDefinition {
  readonly name: string;
  readonly title: string;
  readonly purpose: Purpose;
  /** Among the reports of one purpose, from 1. */
  readonly place: number;
  readonly grain: string;
  readonly parameters: readonly ReportParameter[];
  readonly means: string;
  /** Sort keys, the most significant first. */
  readonly order: string;
  readonly cannotSay: string;
  /** Unit by column name. */
  readonly units: Readonly<Record<string, string>>;
  readonly details: readonly string[];
  readonly charts: readonly ChartSpec[];
  /** Optional tables from CSV that the report joins. */
  readonly sources: readonly ExtraTable[];
  /** The value of `by` that shows a column, by column; all others are always shown. */
  readonly shownBy: Readonly<Record<string, string>>;
  readonly example: WorkedExample | null;
  readonly drilldowns: readonly Drilldown[];
  readonly sql: string;
}

const SQL_FOLDER = new URL('./sql/', import.meta.url);
let catalogue: Promise<readonly ReportDefinition[]> | undefined;

/** Every report, by purpose and place. Read once for each process. */
export function listReports(): Promise<readonly ReportDefinition[]> {
  catalogue ??= readCatalogue().catch((error: unknown) => {
    // Read again next time: a failure that passes, such as too many open files, must not stay for the life of the process.
    catalogue = undefined;
    throw error;
  });
  return catalogue;
}

/** @throws ReportError with the nearest names */
export async function findReport(name: string): Promise<ReportDefinition> {
  const reports = await listReports();
  const found = reports.find((report) => report.name === name);
  if (found) return found;
  const names = reports.map((report) => report.name);
  const nearest = nearestNames(name, names);
  const hint = nearest.length > 0 ? ` Did you mean ${nearest.join(' or ')}?` : '';
  throw new ReportError('report-not-found', [name, hint]);
}

/** `findReport` without a promise, for a command's help; null when no report has this name. */
export function findReportNow(name: string): ReportDefinition | null {
  if (!/^[a-z]+(-[a-z]+)*$/.test(name)) return null;
  const file = new URL(`${name}.sql`, SQL_FOLDER);
  return existsSync(file) ? parseReport(name, readFileSync(file, 'utf8')) : null;
}

/** @throws Error when the header is invalid; that is a mistake in the repository, and a test reads them all. */
export function parseReport(name: string, sql: string): ReportDefinition {
  const header = headerOf(sql);
  const one = (key: string): string => (header.get(key) ?? []).join(' ');
  for (const key of ['title', 'purpose', 'grain', 'means', 'order', 'cannot say']) {
    if (one(key) === '') throw new Error(`Report ${name}: its header has no "${key}".`);
  }
  return {
    name,
    title: one('title'),
    ...purposeOf(name, one('purpose')),
    grain: one('grain'),
    parameters: (header.get('params') ?? [])
      .filter((line) => line !== '')
      .map((line) => parameterOf(name, line)),
    means: one('means'),
    order: one('order'),
    cannotSay: one('cannot say'),
    units: Object.fromEntries(listOf(one('units')).map((item) => splitOnce(item, ' '))),
    details: listOf(one('detail')),
    charts: (header.get('chart') ?? []).filter((line) => line !== '').map((line) => chartOf(name, line)),
    sources: listOf(one('source')).map((item) => sourceOf(name, item)),
    shownBy: Object.fromEntries(listOf(one('shown')).map((item) => splitOnce(item, ' '))),
    example: exampleOf(name, header.get('example') ?? [], EXTRA_TABLES),
    drilldowns: parseDrilldowns(name, header.get('drilldown') ?? []),
    sql,
  };
}

async function readCatalogue(): Promise<readonly ReportDefinition[]> {
  const files = (await readdir(SQL_FOLDER)).filter((file) => file.endsWith('.sql'));
  const names = files.map((file) => file.slice(0, -'.sql'.length));
  const reports = await Promise.all(
    names.map(async (name) => parseReport(name, await readFile(new URL(`${name}.sql`, SQL_FOLDER), 'utf8'))),
  );
  const purposes = Object.keys(PURPOSES);
  return reports.sort(
    (one, other) =>
      purposes.indexOf(one.purpose) - purposes.indexOf(other.purpose) || one.place - other.place,
  );
}

/** The lines of each key: the one with the key first, then those that continue it. */
function headerOf(sql: string): Map<string, string[]> {
  const header = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of sql.split('\n')) {
    if (!line.startsWith('--')) break;
    const start = /^-- ([a-z][a-z ]*):\s*(.*)$/.exec(line);
    if (start?.[1] !== undefined && !line.startsWith('--   ')) {
      current = [(start[2] ?? '').trim()];
      header.set(start[1], [...(header.get(start[1]) ?? []), ...current]);
      current = header.get(start[1]) ?? current;
    } else {
      current.push(line.slice(2).trim());
    }
  }
  return header;
}

function parameterOf(report: string, line: string): ReportParameter {
  const match = /^\$([a-z_]+) ([a-z|]+)(\+?)(?: = ([^:]+))?: (.+)$/.exec(line);
  const choices = match?.[2]?.includes('|') ? match[2].split('|') : null;
  const type = choices ? 'text' : PARAMETER_TYPES.find((known) => known === match?.[2]);
  if (!match?.[1] || !match[5] || !type)
    throw new Error(`Report ${report}: cannot read the parameter "${line}".`);
  const takesSeveral = match[3] === '+';
  return { name: match[1], type, choices, takesSeveral, default: match[4]?.trim() ?? null, about: match[5] };
}

function purposeOf(report: string, text: string): { purpose: Purpose; place: number } {
  const [word, place] = text.split(', ');
  const purpose = (Object.keys(PURPOSES) as Purpose[]).find((known) => known === word);
  if (!purpose || !/^\d+$/.test(place ?? '')) throw new Error(`Report ${report}: "${text}" is no purpose.`);
  return { purpose, place: Number(place) };
}

function chartOf(report: string, line: string): ChartSpec {
  const [word, ...rest] = line.split(/\s+/);
  const kind = CHART_KINDS.find((known) => known === word);
  if (!kind) throw new Error(`Report ${report}: there is no chart "${line}".`);
  return { kind, roles: Object.fromEntries(rest.map((item) => splitOnce(item, '='))) };
}

function sourceOf(report: string, item: string): ExtraTable {
  const found = EXTRA_TABLES.find((known) => known === item);
  if (found) return found;
  throw new Error(`Report ${report}: there is no source "${item}".`);
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

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

/** The tables of an example with their captions, in reading order. */
export function exampleTables(example: WorkedExample): (ExampleTable & { readonly caption: string })[] {
  const tables = [
    ...(example.invoices ? [{ caption: 'Invoices', ...example.invoices }] : []),
    ...(example.lines.columns.length > 0 ? [{ caption: 'Lines of the files', ...example.lines }] : []),
    ...Object.entries(example.files).map(([name, table]) => ({ caption: `--${name}`, ...table })),
    { caption: 'What the report answers', ...example.rows },
  ];
  return tables;
}
