/** Runs the statements of `sql/`, whose `{{names}}` are filled with expressions of our own and never with what somebody typed. */

import type { DuckDBResultReader, DuckDBValue } from '@duckdb/node-api';
import type { PublishedFile } from '../published-file.js';
import { statementText } from '../statement-text.js';

/** @param more.values bound by name */
export async function query(
  file: PublishedFile,
  name: string,
  more: {
    readonly filled?: Readonly<Record<string, string>>;
    readonly values?: Readonly<Record<string, DuckDBValue>>;
  } = {},
): Promise<DuckDBResultReader> {
  const text = await statementText(new URL(`./sql/${name}.sql`, import.meta.url));
  const sql = text.replace(/\{\{(\w+)\}\}/g, (_, word: string) => more.filled?.[word] ?? '');
  return file.query(sql, more.values);
}
