/** Runs the statements of `sql/`, whose `{{names}}` are filled with expressions of our own and never with what somebody typed. */

import { type DuckDBResultReader, type DuckDBValue, listValue } from '@duckdb/node-api';
import type { PublishedFile } from '../published-file.ts';
import { statementText } from '../statement-text.ts';

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
  return file.query(await filledText(name, more.filled ?? {}), Object.fromEntries(values));
}

/** A statement's text, which may be filled into another. */
export async function filledText(name: string, filled: Filled): Promise<string> {
  const text = await statementText(new URL(`./sql/${name}.sql`, import.meta.url));
  return text.replace(/\{\{(\w+)\}\}/g, (_, word: string) => filled[word] ?? '');
}
