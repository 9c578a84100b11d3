/** Runs the statements of `sql/`, whose `{{names}}` are filled with expressions of our own and never with what somebody typed. */

import { readFile } from 'node:fs/promises';
import type { DuckDBResultReader, DuckDBValue } from '@duckdb/node-api';
import type { PublishedFile } from '../published-file.js';

const texts = new Map<string, Promise<string>>();

/** @param more.values bound by name */
export async function query(
  file: PublishedFile,
  name: string,
  more: {
    readonly filled?: Readonly<Record<string, string>>;
    readonly values?: Readonly<Record<string, DuckDBValue>>;
  } = {},
): Promise<DuckDBResultReader> {
  const text = texts.get(name) ?? readFile(new URL(`./sql/${name}.sql`, import.meta.url), 'utf8');
  texts.set(name, text);
  text.catch(() => texts.delete(name));
  const sql = (await text).replace(/\{\{(\w+)\}\}/g, (_, word: string) => more.filled?.[word] ?? '');
  return file.query(sql, more.values);
}
