export type Params = Readonly<Record<string, string | number | bigint | boolean | null>>;
export type Row = Readonly<Record<string, unknown>>;

/** @throws TypeError the statement has no such parameter, or a parameter has no value: DuckDB would ignore both */
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

export interface Statements {
  /** Runs a statement; decimals, big integers and instants are text in its rows. */
  all(name: string, params?: Params): Promise<readonly Row[]>;
  first(name: string, params?: Params): Promise<Row>;
  /** @param rows have the same columns each */
  insert(table: string, rows: readonly object[]): Promise<void>;
}

export interface Ledgers {
  all(name: string, params?: Params): Promise<readonly Row[]>;
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
}

export function camelCase<T>(row: Row): T {
  const entries = Object.entries(row).map(([column, value]) => [
    column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(entries) as T;
}

/** Whether DuckDB refused a row or a file; errors of disk and memory, and damage, are not of this kind. */
export function isRowError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /^(?:Invalid Input|Conversion|Constraint|Out of Range|Not implemented) Error/.test(error.message)
  );
}
