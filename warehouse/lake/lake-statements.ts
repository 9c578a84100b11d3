/** The lake's own statements: PostgreSQL's for the ledgers, DuckDB's where they differ from those of the single file. */

import { statementsIn } from '../../lib/sql-file.ts';
import { type Migration, migrationsIn, sql, withCsvColumns } from '../duckdb/sql.ts';
import { checkNames, type Params } from '../duckdb/statements.ts';

/** A statement as `pg` takes it: values by number. */
export interface LedgerStatement {
  readonly text: string;
  readonly names: readonly string[];
}

const ledgerTexts = new Map<string, LedgerStatement>();
const rowTexts = new Map<string, string>();

/** The lake's own statement of that name, else the single file's; its `$names` numbered in order of appearance. */
export function ledgerStatement(name: string): LedgerStatement {
  let known = ledgerTexts.get(name);
  if (known === undefined) {
    const names: string[] = [];
    const own = ownOrShared('ledger', name);
    const text = own.replaceAll(/\$([a-z_0-9]+)/g, (_found, word: string) => {
      if (!names.includes(word)) names.push(word);
      return `$${names.indexOf(word) + 1}`;
    });
    known = { text, names };
    ledgerTexts.set(name, known);
  }
  return known;
}

/** Values in the order of the statement. @throws TypeError unknown or missing names */
export function ledgerValues({ text, names }: LedgerStatement, params: Params): (string | null)[] {
  checkNames(text, new Set(names), params);
  return names.map((name) => {
    const value = params[name];
    return value === null ? null : String(value);
  });
}

/** The statement of rows.sql, else the single file's statement of that name; rows are inserted into the lake's table. */
export function rowStatement(name: string): string {
  let text = rowTexts.get(name);
  if (text === undefined) {
    text = ownOrShared('rows', name).replace(/\binto shipment_rows\b/, 'into lake.main.shipment_rows');
    rowTexts.set(name, text);
  }
  return text;
}

function ownOrShared(file: 'ledger' | 'rows', name: string): string {
  const own = statementsIn(new URL(`./${file}.sql`, import.meta.url)).get(name);
  return own === undefined ? sql(name) : withCsvColumns(own);
}

/** The ledgers' schema in PostgreSQL, in order. */
export function ledgerMigrations(): readonly Migration[] {
  return migrationsIn(new URL('./migrations/', import.meta.url));
}
