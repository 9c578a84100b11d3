import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { CsvError, parse } from 'csv-parse';
import { nearestNames } from '../lib/config/did-you-mean.ts';
import { statementIn } from '../lib/sql-file.ts';
import { messageOf, systemErrorIn } from '../lib/system-errors.ts';
import { USER_FILES, userStore } from '../lib/user-store.ts';
import { EXTRA_TABLES, type ExtraTable, type ReportDefinition } from './catalogue.ts';
import { invalidFilter, isReportError, type ReportError } from './errors.ts';
import type { PublishedFile } from './open-published-file.ts';
import { createSharedViews } from './prepare-session.ts';
import { appendCell, COLUMNS, cellProblem, createTable, rowName, UNIQUE } from './table-columns.ts';

/** The paths of CSV files that are given to a report; `table-columns.ts` has their headers. */
export type OptionalTables = Readonly<Partial<Record<ExtraTable, string | undefined>>>;

/** The folder of report files relative to the data folder, for messages. */
export const REPORT_FILES = 'user/report-files';

const WITHOUT: Readonly<Partial<Record<ExtraTable, string>>> = {
  rates: 'No rates are given, so no line is covered',
  costs: 'No own costs are given, so no tracking number is covered',
  payments: 'No payments are given, so every invoice counts as open',
  statements: 'No carrier statements are given, so every charge counts as not stated',
  budget: 'No budget is given, so there are no rows',
};

/**
 * A table that is not given is empty. Returns sentences: `missing` tables, matched rows of `files`. @throws
 * ReportError naming file, line and column
 */
export async function loadOptionalTables(
  file: PublishedFile,
  report: ReportDefinition,
  tables: OptionalTables,
  parameters: Readonly<Record<string, string | null>>,
): Promise<{ readonly missing: readonly string[]; readonly files: readonly string[] }> {
  const unused = EXTRA_TABLES.find((name) => tables[name] !== undefined && !report.sources.includes(name));
  if (unused !== undefined) {
    const joined = report.sources.length === 0 ? 'no file' : report.sources.join(', ');
    throw invalidFilter(`The report ${report.name} does not read --${unused}; it joins ${joined}.`);
  }
  const missing: string[] = [];
  const given: LoadedTable[] = [];
  for (const name of report.sources) {
    const path = tables[name];
    const parameter = report.sourceParameters[name];
    const isRead = parameter === undefined || parameters[parameter] !== null;
    const csv =
      path !== undefined
        ? { path, bytes: () => readFile(path) }
        : isRead
          ? await storedFile(file.path, name)
          : null;
    const loaded = await loadTable(file, name, csv);
    if (loaded !== null) given.push(loaded);
    else if (WITHOUT[name] !== undefined)
      missing.push(`${WITHOUT[name]} (--${name} FILE, or ${REPORT_FILES}/${name}.csv).`);
  }
  const files: string[] = [];
  for (const table of given) files.push(await matchedRows(file, table));
  return { missing, files };
}

interface LoadedTable {
  readonly name: ExtraTable;
  readonly path: string;
  readonly rows: number;
}

/** Loads a table; returns null when its file is not given, and the table is then empty. */
async function loadTable(
  file: PublishedFile,
  name: ExtraTable,
  csv: CsvFile | null,
): Promise<LoadedTable | null> {
  await file.query(createTable(name));
  const loaded = csv === null ? null : { name, path: csv.path, rows: await appendCsv(file, name, csv) };
  if (name === 'weights') await rateWeights(file, csv !== null);
  return loaded;
}

/** Checks a file as a report reads it. Returns which rows match loaded lines. @throws ReportError naming each wrong line */
export async function checkTable(file: PublishedFile, name: ExtraTable, csv: CsvFile): Promise<string> {
  // Rates are compared with weights as they are rated.
  if (name === 'rates') await loadTable(file, 'weights', await storedFile(file.path, 'weights'));
  const loaded = await loadTable(file, name, csv);
  return loaded === null ? '' : matchedRows(file, loaded);
}

const MAX_NAMED_ROWS = 5;
const MATCHED_ROWS = new URL('./session/matched-rows.sql', import.meta.url);

/** Counts the rows that match loaded lines, without filters. */
async function matchedRows(file: PublishedFile, { name, path, rows }: LoadedTable): Promise<string> {
  const matched = statementIn(MATCHED_ROWS, name);
  await createSharedViews(file, matched);
  const reader = await file.query(
    `select line, ${rowName(name)} as named from ${name} where line not in (${matched}) order by line`,
  );
  const others = reader.getRowObjects();
  const counts = `${basename(path)} (--${name}): ${rows - others.length} of ${rows} rows matched`;
  if (others.length === 0) return `${counts}.`;
  const named = others
    .slice(0, MAX_NAMED_ROWS)
    .map((row) => `line ${row.line}${row.named === '' ? '' : ` (${row.named})`}`)
    .join(', ');
  const more = others.length - MAX_NAMED_ROWS;
  return `${counts}, these did not: ${named}${more > 0 ? ` and ${more} more` : ''}.`;
}

async function rateWeights(file: PublishedFile, isGiven: boolean): Promise<void> {
  if (!isGiven) {
    await file.run('no-rated-weights');
    return;
  }
  // The statements start from the lines as they were before an earlier file was applied.
  for (const statement of [
    'loaded-shipments',
    'rated-weights',
    'loaded-shipments-rated',
    'selected-shipments',
  ] as const)
    await file.run(statement);
  await file.run('rated-as');
}

export interface CsvFile {
  readonly path: string;
  readonly bytes: Buffer | (() => Promise<Buffer>);
}

async function storedFile(published: string, name: ExtraTable): Promise<CsvFile | null> {
  const store = await userStore(dirname(published));
  const path = `${USER_FILES.reportFiles}/${name}.csv`;
  const bytes = await store.read(path);
  return bytes === null ? null : { path: store.place(path), bytes: Buffer.from(bytes) };
}

const MAX_PROBLEMS = 20;

async function appendCsv(file: PublishedFile, table: ExtraTable, { path, bytes }: CsvFile): Promise<number> {
  const appender = await file.connection.createAppender(table, 'main', 'temp');
  const problems: string[] = [];
  let hasHeader = false;
  let rows = 0;
  try {
    const content = typeof bytes === 'function' ? await bytes() : bytes;
    checkUtf8(content, path);
    const columns = (header: string[]): string[] => {
      hasHeader = true;
      return checkHeader(table, `${path} line 1`, header);
    };
    const parser = parse(content, { bom: true, info: true, skip_empty_lines: true, columns });
    for await (const parsed of parser) {
      const { record, info } = parsed as { record: Record<string, string>; info: { lines: number } };
      const place = `${path} line ${info.lines}`;
      rows += 1;
      for (const column of COLUMNS[table]) {
        const problem = cellProblem(column, record[column.name] ?? '', `${place}: ${column.name}`);
        if (problem !== null) problems.push(problem);
      }
      if (problems.length >= MAX_PROBLEMS) break;
      if (problems.length > 0) continue;
      appender.appendInteger(info.lines);
      for (const column of COLUMNS[table]) appendCell(appender, column, record[column.name] ?? '');
      appender.endRow();
    }
    if (problems.length > 0) throw invalidFilter(problems.join('\n'));
    if (!hasHeader) throw invalidFilter(`${path} line 1 is empty: write a header, ${headerOf(table)}.`);
    if (rows === 0)
      throw invalidFilter(`${path} has no rows below its header: write at least one, or leave it out.`);
  } catch (error) {
    throw unreadable(error, table, path);
  }
  appender.closeSync();
  await refuseContradictions(file, table, path);
  return rows;
}

function unreadable(error: unknown, table: ExtraTable, path: string): ReportError {
  if (isReportError(error)) return error;
  if (error instanceof CsvError && error.code === 'CSV_RECORD_INCONSISTENT_COLUMNS') {
    const { lines, record, columns } = error as CsvError &
      Readonly<{ lines: number; record: readonly string[]; columns: readonly unknown[] }>;
    return invalidFilter(
      `${path} line ${lines} has ${record.length} cells, its header ${columns.length}: put a text with a comma into quotation marks, and write decimals with a point.`,
      { cause: error },
    );
  }
  const problem = systemErrorIn(error)?.problem ?? messageOf(error);
  return invalidFilter(`${path} cannot be read as ${table}: ${problem}`, { cause: error });
}

/** The parser would replace an invalid byte, and the key would match nothing. @throws ReportError */
function checkUtf8(content: Buffer, path: string): void {
  if (isUtf8(content)) return;
  const lines = content.toString('latin1').split('\n');
  const at = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')));
  throw invalidFilter(
    `${path} line ${at + 1} is not UTF-8: save the file as "CSV UTF-8", or convert it (iconv -f WINDOWS-1252 -t UTF-8 FILE).`,
  );
}

function headerOf(table: ExtraTable): string {
  return COLUMNS[table].map(({ name }) => name).join(',');
}

function checkHeader(table: ExtraTable, place: string, header: readonly string[]): string[] {
  const [only = ''] = header;
  if (header.length === 1 && /[;\t]/.test(only))
    throw invalidFilter(`${place} has no commas between its columns: write ${headerOf(table)}.`);
  const names = header.map((written) => {
    const name = written.trim().toLowerCase();
    return COLUMNS[table].find(({ also }) => also === name)?.name ?? name;
  });
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  if (twice !== undefined) throw invalidFilter(`${place} has the column ${twice} twice: keep one of them.`);
  const missing = COLUMNS[table]
    .filter((column) => column.may !== 'be missing' && !names.includes(column.name))
    .map((column) => column.name);
  if (missing.length > 0) throw invalidFilter(`${place}: the header lacks ${missing.join(', ')}.`);
  // Other extra columns are ignored; a misspelt one would be ignored too.
  const absent = COLUMNS[table].map((column) => column.name).filter((name) => !names.includes(name));
  for (const name of names) {
    if (COLUMNS[table].some((column) => column.name === name)) continue;
    const [meant] = nearestNames(name, absent);
    if (meant !== undefined)
      throw invalidFilter(`${place}: the header has the column "${name}": write ${meant} if you mean that.`);
  }
  return names;
}

/**
 * @throws ReportError two lines have the same key, or a carrier in `weights` has no line with an empty `up_to`, which is for all
 * heavier shipments
 */
async function refuseContradictions(file: PublishedFile, table: ExtraTable, path: string): Promise<void> {
  const names = UNIQUE[table];
  if (names === undefined) return;
  const key = names.map((name) => `lower(cast(${name} as varchar))`).join(', ');
  const repeated = await file.query(
    `select line, lag(line) over (partition by ${key} order by line) as before from ${table} qualify before is not null order by line`,
  );
  for (const { line, before } of repeated.getRowObjects()) {
    const same = names.join(', ').replace(/, (\w+)$/, ' and $1');
    throw invalidFilter(
      `${path} line ${line} has the same ${same} as ${path} line ${before}: keep one of them.`,
    );
  }
  if (table !== 'weights') return;
  const light = await file.query(
    'select lower(carrier) as carrier, min(line) as line from weights group by all having count(*) = count(up_to) order by line',
  );
  for (const { carrier, line } of light.getRowObjects()) {
    const owner = carrier === null ? 'the carriers that are not named' : `carrier "${carrier}"`;
    throw invalidFilter(
      `${path} line ${line} is for light weights only: add a line of ${owner} with an empty up_to, for all heavier ones.`,
    );
  }
}
