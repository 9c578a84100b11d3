/**
 * A report is a file of `sql/` with a header of `-- key: value` lines; two more spaces continue the value above. Names in
 * prose are in backticks. Keys besides `title`, `grain`, `means`, `order`, `limits` and `example` (computed by a test):
 *
 * - `purpose`, and the place among its reports: `Spend, 1`
 * - `params`: `$name type = default: description`; instead of a type the allowed values, `month|week`, of which
 *   `month|week+` takes several; without a default the parameter is null
 * - `reads`: what it reads besides the shipments of the level: `invoices` (it lists invoices), `states` (states of invoices, which
 *   are published as they are now only), `levels` (shipments of all levels)
 * - `units`: `column unit`; a decimal with four digits is an amount by default, `-` is no unit, `$in` the parameter's value
 * - `detail`: columns that a narrow terminal leaves out; `drilldown`: see `drilldown.ts`
 * - `source`: optional tables; `fx with in` is read only when the parameter `in` has a value
 * - `chart`: its kind and columns as `role=column`
 * - `groups`: columns that exist only when `by` names them: `carrier`, `service_level service`; or when the parameter of
 *   this name has a value: `converted_cost in`
 */

import { readdirSync, readFileSync } from 'node:fs';
import { didYouMean } from '../lib/config/did-you-mean.ts';
import { type Drilldown, listOf, parseDrilldowns } from './drilldown.ts';
import { ReportError } from './errors.ts';

export const PARAMETER_TYPES = ['integer', 'decimal', 'text', 'date', 'instant', 'currency'] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

/** Files that a user may add: a table with this name, from `--NAME FILE` or `user/report-files/NAME.csv`. */
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
  /** The values that the parameter may have; null allows any. */
  readonly choices: readonly string[] | null;
  readonly takesSeveral: boolean;
  /** The default as typed; null binds null unless a value is given. */
  readonly default: string | null;
  readonly about: string;
}

const READS = ['invoices', 'states', 'levels'] as const;
export type Reads = (typeof READS)[number];

export const CHART_KINDS = ['bar', 'line', 'stack', 'heatmap', 'waterfall'] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export interface ChartSpec {
  readonly kind: ChartKind;
  /**
   * Column names by role (`key`, `value`, for some kinds `series` or `y`); `a+b` combines two columns,
   * `combine=sum` adds the rows of one place.
   */
  readonly roles: Readonly<Record<string, string>>;
}

export const PURPOSES = {
  Spend: 'the cost of shipping, by any attribute',
  Change: 'changes between two periods, and their reasons',
  Audit: 'charges to question',
  'Month end': 'amounts to reconcile, to accrue and to pay',
  Health: 'completeness and correctness of invoices and files',
} as const;
export type Purpose = keyof typeof PURPOSES;

export interface ReportDefinition {
  readonly name: string;
  readonly title: string;
  readonly purpose: Purpose;
  readonly place: number;
  readonly grain: string;
  readonly parameters: readonly ReportParameter[];
  readonly means: string;
  readonly order: string;
  readonly limits: string;
  /** Units of columns, only where the column's type does not decide it. */
  readonly units: Readonly<Record<string, string>>;
  readonly details: readonly string[];
  readonly charts: readonly ChartSpec[];
  readonly sources: readonly ExtraTable[];
  /** The parameter without which a source is not read. */
  readonly sourceParameters: Readonly<Partial<Record<ExtraTable, string>>>;
  readonly reads: readonly Reads[];
  /** The value of `by`, or the parameter, with which the column exists; all other columns always exist. */
  readonly groupColumns: Readonly<Record<string, string>>;
  readonly example: WorkedExample | null;
  readonly drilldowns: readonly Drilldown[];
  readonly sql: string;
}

const SQL_FOLDER = new URL('./sql/', import.meta.url);
let catalogue: readonly ReportDefinition[] | undefined;

export function listReports(): readonly ReportDefinition[] {
  const purposes = Object.keys(PURPOSES);
  catalogue ??= readdirSync(SQL_FOLDER)
    .map((file) => parseReport(file.replace('.sql', ''), readFileSync(new URL(file, SQL_FOLDER), 'utf8')))
    .sort(
      (one, other) =>
        purposes.indexOf(one.purpose) - purposes.indexOf(other.purpose) || one.place - other.place,
    );
  return catalogue;
}

export function findReport(name: string): ReportDefinition {
  const found = listReports().find((report) => report.name === name);
  if (found) return found;
  const names = listReports().map((report) => report.name);
  throw new ReportError('report-not-found', [name, didYouMean(name, names)]);
}

export function parseReport(name: string, sql: string): ReportDefinition {
  const header = headerOf(name, sql);
  const one = (key: string): string => (header.get(key) ?? []).join(' ');
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
    limits: one('limits'),
    units: Object.fromEntries(listOf(one('units')).map((item) => splitOnce(item, ' '))),
    details: listOf(one('detail')),
    charts: (header.get('chart') ?? []).filter((line) => line !== '').map((line) => chartOf(name, line)),
    sources: listOf(one('source')).map((item) => sourceOf(name, splitOnce(item, ' with ')[0])),
    sourceParameters: Object.fromEntries(
      listOf(one('source'))
        .map((item) => splitOnce(item, ' with '))
        .filter(([, parameter]) => parameter !== ''),
    ),
    reads: listOf(one('reads')).map((item) => readsOf(name, item)),
    groupColumns: Object.fromEntries(
      listOf(one('groups')).map((item) => {
        const [column, group] = splitOnce(item, ' ');
        return [column, group === '' ? column : group];
      }),
    ),
    example: exampleOf(name, header.get('example') ?? []),
    drilldowns: parseDrilldowns(name, header.get('drilldown') ?? []),
    sql,
  };
}

const KEYS: readonly string[] = [
  ...[
    'title',
    'purpose',
    'grain',
    'params',
    'means',
    'order',
    'limits',
    'units',
    'detail',
    'chart',
    'source',
  ],
  ...['reads', 'groups', 'drilldown', 'example'],
];

/** A line that is neither a key nor indented is no part of the header. */
function headerOf(name: string, sql: string): Map<string, string[]> {
  const header = new Map<string, string[]>();
  let current: string[] = [];
  for (const [at, line] of sql.split('\n').entries()) {
    if (!line.startsWith('--')) break;
    const start = /^-- ([^ :]*):\s*(.*)$/.exec(line);
    if (start?.[1] === undefined && !line.startsWith('--   '))
      throw new Error(`Report ${name}, line ${at + 1}: "${line}" is no line of a header.`);
    if (start?.[1] !== undefined) {
      if (!KEYS.includes(start[1]))
        throw new Error(`Report ${name}, line ${at + 1}: a header has no key "${start[1]}".`);
      current = header.get(start[1]) ?? [];
      current.push((start[2] ?? '').trim());
      header.set(start[1], current);
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
  const [name, place] = text.split(', ');
  const purpose = (Object.keys(PURPOSES) as Purpose[]).find((known) => known === name);
  if (!purpose || !/^\d+$/.test(place ?? '')) throw new Error(`Report ${report}: "${text}" is no purpose.`);
  return { purpose, place: Number(place) };
}

function chartOf(report: string, line: string): ChartSpec {
  const [name, ...rest] = line.split(/\s+/);
  const kind = CHART_KINDS.find((known) => known === name);
  if (!kind) throw new Error(`Report ${report}: there is no chart "${line}".`);
  return { kind, roles: Object.fromEntries(rest.map((item) => splitOnce(item, '='))) };
}

function sourceOf(report: string, item: string): ExtraTable {
  const found = EXTRA_TABLES.find((known) => known === item);
  if (found) return found;
  throw new Error(`Report ${report}: there is no source "${item}".`);
}

function readsOf(report: string, item: string): Reads {
  const found = READS.find((known) => known === item);
  if (found) return found;
  throw new Error(`Report ${report}: it cannot read "${item}".`);
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at).trim(), text.slice(at + separator.length).trim()];
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
  readonly rows: ExampleTable;
}

function exampleOf(report: string, lines: readonly string[]): WorkedExample | null {
  if (lines.length === 0) return null;
  const tables = new Map<string, { columns: string[]; rows: string[][] }>();
  const settings = new Map<string, string>();
  const text: string[] = [];
  let current: string[][] | null = null;
  for (const line of lines) {
    const [, keyword = '', rest = ''] = /^(\w+): (.*)$/.exec(line) ?? [];
    if (keyword === 'with' || keyword === 'published') settings.set(keyword, rest);
    else if (['lines', 'invoices', 'rows', ...EXTRA_TABLES].includes(keyword)) {
      current = [];
      tables.set(keyword, { columns: cellsOf(rest), rows: current });
    } else if (current) current.push(cellsOf(line));
    else text.push(line);
  }
  const rows = tables.get('rows');
  if (!rows) throw new Error(`Report ${report}: its example has no rows.`);
  for (const [keyword, table] of tables) {
    const odd = table.rows.find((cells) => cells.length !== table.columns.length);
    if (odd) throw new Error(`Report ${report}: "${odd.join(' | ')}" is no row of the example's ${keyword}.`);
  }
  return {
    text: text.join(' '),
    invoices: tables.get('invoices') ?? null,
    lines: tables.get('lines') ?? { columns: [], rows: [] },
    files: Object.fromEntries(
      EXTRA_TABLES.flatMap((name) => {
        const table = tables.get(name);
        return table ? [[name, table]] : [];
      }),
    ),
    parameters: Object.fromEntries(listOf(settings.get('with') ?? '').map((item) => splitOnce(item, '='))),
    publishedAt: settings.get('published') ?? null,
    rows,
  };
}

function cellsOf(line: string): string[] {
  return line.split('|').map((cell) => cell.trim());
}

export function exampleTables(example: WorkedExample): (ExampleTable & { readonly caption: string })[] {
  return [
    ...(example.invoices ? [{ caption: 'Invoices', ...example.invoices }] : []),
    ...(example.lines.columns.length > 0 ? [{ caption: 'Lines of the files', ...example.lines }] : []),
    ...Object.entries(example.files).map(([name, table]) => ({ caption: `--${name}`, ...table })),
    { caption: 'Rows of the report', ...example.rows },
  ];
}
