import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { statementsIn } from '../../lib/sql-file.ts';
import { CSV_COLUMNS, type CsvColumn, STORED_COLUMNS } from '../../lib/wire/csv-file.ts';
import { COLUMN_MEANINGS } from './column-meanings.ts';

const folder = new URL('../sql/', import.meta.url);
let statements: ReadonlyMap<string, string> | undefined;

/** Returns the statement of a name; a text with a space is a statement itself. */
export function sql(name: string): string {
  if (name.includes(' ')) return name;
  // All files are read at once, because an upgrade may replace them while this process runs.
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

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

export function migrations(): readonly Migration[] {
  return migrationsIn(new URL('../migrations/', import.meta.url));
}

export function migrationsIn(folder: URL): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({
      number: Number.parseInt(name, 10),
      name: name.replace(/\.sql$/, ''),
      text: withCsvColumns(readFileSync(new URL(name, folder), 'utf8')),
    }));
}

export interface Views {
  readonly scripts: readonly string[];
  readonly heads: ReadonlyMap<string, string>;
  /** The hash of the texts in lower-case hex; a warehouse with the same one has these views. */
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

function headOf(script: string): string {
  const lines = script.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^-- ?/, ''))
    .join(' ');
}

export function withCsvColumns(statement: string): string {
  return statement.replaceAll(/\{\{(.*?)\}\}/g, (_found, name: string) => {
    const text = TEXTS[name];
    if (text === undefined) throw new Error(`{{${name}}} is no list of columns.`);
    return text;
  });
}

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
