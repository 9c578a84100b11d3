/**
 * The views that readers open and their columns say what they are as comments of DuckDB, so that every tool that shows a
 * catalogue shows it. A view says what stands at the top of its file, a column what docs/reference/tables.md has of it.
 */

import { COLUMN_MEANINGS } from './column-meanings.js';

export interface Commented {
  readonly columns: readonly { readonly view: string; readonly column: string }[];
  /** The tables behind the views, which lie beside them. */
  readonly tables: readonly string[];
  /** By name: what is said of a view. */
  readonly views: ReadonlyMap<string, string>;
}

const OF_TABLES = 'Internal to billsync, and not safe to sum: ask the views. May change with any version.';

/** @returns undefined where nothing is said of it; Markdown */
export function columnMeaning(view: string, column: string): string | undefined {
  return COLUMN_MEANINGS[`${view}.${column}`] ?? COLUMN_MEANINGS[column];
}

/** The comment at the top of a view's file, as one line; empty without one. */
export function headOf(script: string): string {
  const lines = script.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^-- ?/, ''))
    .join(' ');
}

/** The statements that write the comments. */
export function commentScript({ columns, tables, views }: Commented): string {
  return [
    ...tables.map((table) => `comment on table ${table} is ${quoted(OF_TABLES)};`),
    ...[...views].map(([view, head]) => `comment on view ${view} is ${quoted(head)};`),
    ...columns
      .filter(({ view }) => views.has(view))
      .map(
        ({ view, column }) =>
          `comment on column ${view}."${column}" is ${quoted(columnMeaning(view, column) ?? null)};`,
      ),
  ].join('\n');
}

/** Markdown without its marks. */
function quoted(text: string | null): string {
  if (text === null) return 'null';
  const plain = text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
  return `'${plain.replaceAll("'", "''")}'`;
}
