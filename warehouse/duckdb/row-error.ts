/** Tells what is wrong with a row from what is wrong with the database. */

/** What DuckDB says when a row does not fit or its reader gave up; disk, memory and damage are not the file's fault. */
export function isRowError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /^(?:Invalid Input|Conversion|Constraint|Out of Range|Not implemented) Error/.test(error.message)
  );
}
