/**
 * Brings the warehouse's schema up to date: numbered files, each in a transaction of its own, never edited; then the
 * views that readers see, all of them in one transaction, when the text of one has changed. A new warehouse is made in one
 * transaction, which takes a third less.
 */

import { WarehouseError } from '../errors.ts';
import { COLUMN_MEANINGS } from './column-meanings.ts';
import type { Database } from './database.ts';
import type { Session } from './session.ts';
import { laterColumns, type Migration, migrations, views } from './sql.ts';

/** @throws warehouse-too-new the file was made by a newer billsync */
export async function migrate(
  database: Database,
  now: Date,
  known: readonly Migration[] = migrations(),
): Promise<void> {
  await database.use((session) => session.all('create-migrations'));
  const [{ found = 0 } = {}] = (await database.all('migration-number')) as readonly { found: number }[];
  const last = known.at(-1)?.number ?? 0;
  if (found > last) throw new WarehouseError('warehouse-too-new', [database.path, found, last]);
  const missing = known.filter(({ number }) => number > found);
  if (found === 0) {
    await database.transaction(async (session) => {
      await apply(session, missing, now);
      await applyViews(session, now);
    });
    return;
  }
  for (const migration of missing) await database.transaction((session) => apply(session, [migration], now));
  const [applied] = await database.all('select sha256 from applied_views');
  if (applied?.sha256 !== views().sha256) {
    await database.transaction((session) => applyViews(session, now));
  }
}

async function apply(session: Session, applied: readonly Migration[], now: Date): Promise<void> {
  for (const { text } of applied) await session.script(text);
  await session.all('insert-migrations', {
    migrations: JSON.stringify(applied.map(({ number, name }) => ({ number, name }))),
    applied_at: now.toISOString(),
  });
}

/** A column more in a view is an edit of its file, or of lib/wire/csv-file.ts; what a warehouse holds already is told by the hash. */
async function applyViews(session: Session, now: Date): Promise<void> {
  const { scripts, sha256 } = views();
  for (const script of [...laterColumns('internal.shipment_rows'), ...scripts]) await session.script(script);
  await session.script(await commentsOf(session));
  await session.all('delete from applied_views');
  await session.all('insert into applied_views values ($sha256, $applied_at::timestamp)', {
    sha256,
    applied_at: now.toISOString(),
  });
}

/*  * The views that readers open and their columns say what they are as comments of DuckDB, so that every tool that shows a
 * catalogue shows it. A view says what stands at the top of its file, a column what docs/reference/tables.md has of it.
 */

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
