/** Runs the statements of `statements.sql`, whose `{{names}}` are filled with expressions of our own and never with what somebody typed. */

import { type DuckDBResultReader, type DuckDBValue, listValue } from '@duckdb/node-api';
import { statementIn } from '../../lib/sql-file.ts';
import type { PublishedFile } from '../published-file.ts';

const STATEMENTS = new URL('./statements.sql', import.meta.url);

type Filled = Readonly<Record<string, string>>;

/** @param more.values bound by name */
export async function query(
  file: PublishedFile,
  name: string,
  more: {
    readonly filled?: Filled;
    readonly values?: Readonly<Record<string, DuckDBValue | readonly string[]>>;
  } = {},
): Promise<DuckDBResultReader> {
  const values = Object.entries(more.values ?? {}).map(
    ([key, value]) => [key, Array.isArray(value) ? listValue([...value]) : (value as DuckDBValue)] as const,
  );
  return file.query(filledText(name, more.filled ?? {}), Object.fromEntries(values));
}

/** A statement's text, which may be filled into another. */
export function filledText(name: string, filled: Filled): string {
  return statementIn(STATEMENTS, name).replace(/\{\{(\w+)\}\}/g, (_, word: string) => filled[word] ?? '');
}
