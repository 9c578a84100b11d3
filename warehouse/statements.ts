/** How named statements of `sql/` are asked, wherever the tables lie. */

export type Params = Readonly<Record<string, string | number | bigint | boolean | null>>;
export type Row = Readonly<Record<string, unknown>>;

/** What asks named statements: a connection of DuckDB, or a ledger that lies elsewhere. */
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
