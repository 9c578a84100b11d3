/** How named statements of `sql/` are asked, wherever the tables lie. */

export type Params = Readonly<Record<string, string | number | bigint | boolean | null>>;
export type Row = Readonly<Record<string, unknown>>;

/**
 * A value under a name that the statement has not, or a name without a value, is a mistake of the caller, and one that
 * would change an answer in silence: a filter that does not filter, a null that was never meant.
 *
 * @throws TypeError with the names in question
 */
export function checkNames(statement: string, names: ReadonlySet<string>, params: Params): void {
  const unknown = Object.keys(params).filter((name) => !names.has(name));
  const missing = [...names].filter((name) => params[name] === undefined);
  if (unknown.length === 0 && missing.length === 0) return;
  const parts = [
    ...(unknown.length > 0 ? [`has no parameter ${unknown.join(', ')}`] : []),
    ...(missing.length > 0 ? [`got no value for ${missing.join(', ')}`] : []),
  ];
  throw new TypeError(`The statement ${parts.join(' and ')}: ${statement.trim().slice(0, 200)}`);
}

/** Runs statements by name: on a DuckDB connection, or on a lake's ledger in PostgreSQL. */
export interface Statements {
  /** Rows of the statement of that name; decimals, big integers and instants as text. */
  all(name: string, params?: Params): Promise<readonly Row[]>;
  /** Its only row. */
  first(name: string, params?: Params): Promise<Row>;
}

/** Where ledgers are kept: single statements, or several as one transaction. */
export interface Ledgers {
  all(name: string, params?: Params): Promise<readonly Row[]>;
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
}

/* Tells what is wrong with a row from what is wrong with the database. */

/** What DuckDB says when a row does not fit or its reader gave up; disk, memory and damage are not the file's fault. */
export function isRowError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /^(?:Invalid Input|Conversion|Constraint|Out of Range|Not implemented) Error/.test(error.message)
  );
}
