/**
 * The views that readers open and their columns say what they are as comments of DuckDB, so that every tool that shows a
 * catalogue shows it. A view says what stands at the top of its file, a column what docs/reference/tables.md has of it.
 */

import { COLUMN_MEANINGS } from './column-meanings.ts';
import type { Session } from './session.ts';
import { views } from './sql.ts';

const OF_TABLES = 'Internal to billsync, and not safe to sum: ask the views. May change with any version.';

/** @returns undefined where nothing is said of it; Markdown */
export function columnMeaning(view: string, column: string): string | undefined {
  return COLUMN_MEANINGS[`${view}.${column}`] ?? COLUMN_MEANINGS[column];
}

/** The statements that write the comments of all that the session's file has. */
export async function commentsOf(session: Session): Promise<string> {
  const columns = (await session.once('view-columns')) as readonly { view: string; column: string }[];
  const tables = (await session.once('internal-tables')) as readonly { name: string }[];
  const { heads } = views();
  return [
    ...tables.map(({ name }) => `comment on table ${name} is ${quoted(OF_TABLES)};`),
    ...[...heads].map(([view, head]) => `comment on view ${view} is ${quoted(head)};`),
    ...columns
      .filter(({ view }) => heads.has(view))
      .map(
        ({ view, column }) =>
          `comment on column ${view}."${column}" is ${quoted(columnMeaning(view, column) ?? null)};`,
      ),
  ].join('\n');
}

function quoted(text: string | null): string {
  if (text === null) return 'null';
  return `'${withoutMarks(text).replaceAll("'", "''")}'`;
}

/** Markdown as plain text. */
export function withoutMarks(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}
