/** The warehouse's SQL: named statements (`sql/`), numbered migrations (`migrations/`) and views (`views/`). */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { statementsIn } from '../../lib/sql-file.ts';
import { CSV_COLUMNS, type CsvColumn, STORED_COLUMNS } from '../../lib/wire/csv-file.ts';
import { COLUMN_MEANINGS } from './column-meanings.ts';

const folder = new URL('../sql/', import.meta.url);
let statements: ReadonlyMap<string, string> | undefined;

/** The statement of that name in any file of `warehouse/sql`; a text with a space is a statement itself. */
export function sql(name: string): string {
  if (name.includes(' ')) return name;
  // All files at once: an upgrade may replace them while this process runs.
  statements ??= readAllStatements();
  const text = statements.get(name);
  if (text === undefined) throw new Error(`warehouse/sql has no statement "${name}".`);
  return text;
}

function readAllStatements(): ReadonlyMap<string, string> {
  const all = new Map<string, string>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.sql'))) {
    for (const [name, text] of statementsIn(new URL(file, folder))) {
      if (all.has(name)) throw new Error(`warehouse/sql has two statements "${name}".`);
      all.set(name, withCsvColumns(text));
    }
  }
  return all;
}

/** A file of one statement, with the columns of the CSV inserted. */
export function readStatement(path: URL): string {
  return withCsvColumns(readFileSync(path, 'utf8'));
}

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

/** All migrations in order; their numbers have no gap. */
export function migrations(): readonly Migration[] {
  return migrationsIn(new URL('../migrations/', import.meta.url));
}

/** The `NNNN-name.sql` files of a folder, in the order of their numbers. */
export function migrationsIn(folder: URL): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({
      number: Number.parseInt(name, 10),
      name: name.replace(/\.sql$/, ''),
      text: readStatement(new URL(name, folder)),
    }));
}

export interface Views {
  /** One per file, in the order of the file names: a view comes after those that it reads. */
  readonly scripts: readonly string[];
  /** By view: the comment at the top of its file. */
  readonly heads: ReadonlyMap<string, string>;
  /** SHA-256 of all scripts and comments, in lower-case hex: a warehouse with the same one has these views. */
  readonly sha256: string;
}

let knownViews: Views | undefined;

/** Views and macros are not migrated, but created again when a text has changed. */
export function views(): Views {
  if (knownViews === undefined) {
    const files = migrationsIn(new URL('../views/', import.meta.url));
    const scripts = files.map(({ text }) => text);
    const heads = new Map(
      files
        .filter(({ text }) => /\ncreate or replace view (?!internal\.)/.test(text))
        .map(({ name, text }) => [name.replace(/^\d+-/, '').replaceAll('-', '_'), headOf(text)]),
    );
    const all = [...scripts, JSON.stringify(COLUMN_MEANINGS)].join('\0');
    knownViews = { scripts, heads, sha256: createHash('sha256').update(all).digest('hex') };
  }
  return knownViews;
}

/** The comment at the top of a view's file, as one line; empty without one. */
function headOf(script: string): string {
  const lines = script.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^-- ?/, ''))
    .join(' ');
}

/** Replaces names in double braces by lists of CSV columns. @throws Error unknown name */
export function withCsvColumns(statement: string): string {
  return statement.replaceAll(/\{\{(.*?)\}\}/g, (_found, name: string) => {
    const text = TEXTS[name];
    if (text === undefined) throw new Error(`{{${name}}} is no list of columns.`);
    return text;
  });
}

/** Statements that add newer columns to an existing table of rows. */
export function laterColumns(table: string): readonly string[] {
  return STORED_COLUMNS.filter(({ since }) => since !== undefined).map(
    ({ name, type }) => `alter table ${table} add column if not exists ${name} ${type};`,
  );
}

function list(columns: readonly CsvColumn[], write: (column: CsvColumn) => string): string {
  return columns.map(write).join(', ');
}

const TEXTS: Readonly<Record<string, string>> = {
  'csv columns': list(CSV_COLUMNS, ({ name }) => `'${name}': 'VARCHAR'`),
  cells: list(STORED_COLUMNS, ({ name }) => name),
  'r.cells but tenant': list(STORED_COLUMNS.slice(1), ({ name }) => `r.${name}`),
  casts: list(
    STORED_COLUMNS.filter(({ type }) => type !== 'VARCHAR'),
    ({ name, type }) => `try_cast(${name} as ${type}) as ${name}`,
  ),
  'row is good': rowIsGood(),
  'table columns': list(
    STORED_COLUMNS,
    ({ name, type, isRequired }) => `${name} ${type}${isRequired ? ' not null' : ''}`,
  ),
};

/** One expression for all required cells, since most rows are good, then one for each optional cell. */
function rowIsGood(): string {
  const required = CSV_COLUMNS.filter(({ isRequired }) => isRequired).map(keepsRule);
  const others = CSV_COLUMNS.filter(({ isRequired, rule }) => !isRequired && rule !== 'text');
  const weight = CSV_COLUMNS.find(({ rule }) => rule === 'weight')?.name;
  return [
    `coalesce(${required.join(' and ')}, false)`,
    ...others.map((column) => `coalesce(${keepsRule(column)}, ${column.name} is null)`),
    ...others
      .filter(({ rule }) => rule === 'unit')
      .map(({ name }) => `(${weight} is null or ${name} is not null)`),
  ].join('\n    and ');
}

function keepsRule({ name, rule }: CsvColumn): string {
  switch (rule) {
    case 'text':
      return `is_something(${name})`;
    case 'date':
      return `is_day(${name})`;
    case 'invoice-id':
      return `is_id(${name}, invoice)`;
    case 'currency':
      return `${name} is not null`;
    default:
      return `is_${rule}(${name})`;
  }
}

/** The number of the last known migration; a warehouse with a higher one is refused. */
export function schemaNumber(): number {
  return migrations().at(-1)?.number ?? 0;
}
