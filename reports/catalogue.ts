/**
 * The list of reports: a file in `sql/` with a header comment is a report, nothing else registers it.
 *
 * A header is lines of `-- key: value` at the top of the file; a line that is indented by two spaces after the
 * dashes continues the value above it. Keys:
 *
 * - `title` the question the report answers; `grain` what one row stands for
 * - `params` one per line: `$name type = default: what it does` (`integer`, `decimal`, `text`, `date`, `instant`, or the
 *   words it may be, `month|week`);
 *   the default may be left out when the query treats null as "not given"
 * - `means` how to read the numbers; `cannot say` what they must not be taken for
 * - `units` comma-separated `column unit`; the unit `money` is the row's `currency_code`
 * - `detail` columns that only the wide forms show: a terminal leaves them out when they do not fit
 * - `chart` what an HTML page draws: `bar|line|heatmap|waterfall` and its columns as `role=column`
 * - `source` the tables it joins beside the published ones, each a CSV file (see `optional-tables.ts`)
 * - `formerly` names it had, which work for one version and say so
 * - `example` a worked example (see `worked-example.ts`)
 */

import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { ReportNotFoundError } from './errors.js';
import { nearestNames } from './nearest-names.js';
import { exampleOf, type WorkedExample } from './worked-example.js';

export const PARAMETER_TYPES = ['integer', 'decimal', 'text', 'date', 'instant'] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

/** The files a person may add: each is a table with this name, from `--NAME FILE` or `report-files/NAME.csv`. */
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
  /** The words a text may be; null: any. */
  readonly choices: readonly string[] | null;
  /** Text as a person would type it; null: nothing is bound unless it is given. */
  readonly default: string | null;
  readonly about: string;
}

export const CHART_KINDS = ['bar', 'line', 'heatmap', 'waterfall'] as const;
export type ChartKind = (typeof CHART_KINDS)[number];

export interface ChartSpec {
  readonly kind: ChartKind;
  /**
   * Column names by role: `key`, `value`, and for some kinds `series` or `y`; `a+b` names two that stand together.
   * `combine=sum` adds up rows of one place; without it a place must have one value.
   */
  readonly roles: Readonly<Record<string, string>>;
}

export interface ReportDefinition {
  readonly name: string;
  readonly title: string;
  readonly grain: string;
  readonly parameters: readonly ReportParameter[];
  readonly means: string;
  readonly cannotSay: string;
  /** Unit by column name. */
  readonly units: Readonly<Record<string, string>>;
  readonly details: readonly string[];
  readonly charts: readonly ChartSpec[];
  /** Optional tables from CSV that the report joins. */
  readonly sources: readonly ExtraTable[];
  /** Names it had before. */
  readonly formerly: readonly string[];
  readonly example: WorkedExample | null;
  readonly sql: string;
}

const SQL_FOLDER = new URL('./sql/', import.meta.url);
let catalogue: Promise<readonly ReportDefinition[]> | undefined;

/** Every report, in order of name. Read once for each process. */
export function listReports(): Promise<readonly ReportDefinition[]> {
  catalogue ??= readCatalogue().catch((error: unknown) => {
    // Asked again: a moment without file handles is no answer for as long as the process lives.
    catalogue = undefined;
    throw error;
  });
  return catalogue;
}

/** @throws ReportNotFoundError with what was probably meant */
export async function findReport(name: string): Promise<ReportDefinition> {
  const reports = await listReports();
  const found = reports.find((report) => report.name === name || report.formerly.includes(name));
  if (found) return found;
  throw new ReportNotFoundError(
    name,
    nearestNames(
      name,
      reports.map((report) => report.name),
    ),
  );
}

/** The same at once, for a command's help, which cannot wait; null when no report has this name. */
export function findReportNow(name: string): ReportDefinition | null {
  if (!/^[a-z]+(-[a-z]+)*$/.test(name)) return null;
  const file = new URL(`${name}.sql`, SQL_FOLDER);
  return existsSync(file) ? parseReport(name, readFileSync(file, 'utf8')) : null;
}

/** @throws Error when the header is not one; such a file is our own mistake and a test reads them all. */
export function parseReport(name: string, sql: string): ReportDefinition {
  const header = headerOf(sql);
  const one = (key: string): string => (header.get(key) ?? []).join(' ');
  for (const key of ['title', 'grain', 'means', 'cannot say']) {
    if (one(key) === '') throw new Error(`Report ${name}: its header has no "${key}".`);
  }
  return {
    name,
    title: one('title'),
    grain: one('grain'),
    parameters: (header.get('params') ?? [])
      .filter((line) => line !== '')
      .map((line) => parameterOf(name, line)),
    means: one('means'),
    cannotSay: one('cannot say'),
    units: Object.fromEntries(listOf(one('units')).map((item) => splitOnce(item, ' '))),
    details: listOf(one('detail')),
    charts: (header.get('chart') ?? []).filter((line) => line !== '').map((line) => chartOf(name, line)),
    sources: listOf(one('source')).map((item) => sourceOf(name, item)),
    formerly: listOf(one('formerly')),
    example: exampleOf(name, header.get('example') ?? [], EXTRA_TABLES),
    sql,
  };
}

async function readCatalogue(): Promise<readonly ReportDefinition[]> {
  const files = (await readdir(SQL_FOLDER)).filter((file) => file.endsWith('.sql'));
  const names = files.map((file) => file.slice(0, -'.sql'.length)).sort();
  return Promise.all(
    names.map(async (name) => parseReport(name, await readFile(new URL(`${name}.sql`, SQL_FOLDER), 'utf8'))),
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
  const match = /^\$([a-z_]+) ([a-z|]+)(?: = ([^:]+))?: (.+)$/.exec(line);
  const choices = match?.[2]?.includes('|') ? match[2].split('|') : null;
  const type = choices ? 'text' : PARAMETER_TYPES.find((known) => known === match?.[2]);
  if (!match?.[1] || !match[4] || !type)
    throw new Error(`Report ${report}: cannot read the parameter "${line}".`);
  return { name: match[1], type, choices, default: match[3]?.trim() ?? null, about: match[4] };
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
