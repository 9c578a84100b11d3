/** Statements name the CSV's columns in double braces; here the table of columns (lib/wire/csv-file.ts) stands in for them. */

import { CSV_COLUMNS, type CsvColumn, STORED_COLUMNS } from '../../lib/wire/csv-file.ts';

/** @throws Error a word in double braces that is none of these */
export function withCsvColumns(statement: string): string {
  return statement.replaceAll(/\{\{(.*?)\}\}/g, (_found, word: string) => {
    const text = TEXTS[word];
    if (text === undefined) throw new Error(`{{${word}}} is no list of columns.`);
    return text;
  });
}

/** Brings a table of rows that was made earlier up to today's columns; a statement each. */
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

/** One answer for all required cells, since most rows are good; then what may be empty, cell by cell. */
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
