import { WarehouseError } from '../errors.ts';
import { COLUMN_MEANINGS } from './column-meanings.ts';
import type { Database } from './database.ts';
import type { Session } from './session.ts';
import { laterColumns, type Migration, migrations, views } from './sql.ts';
import type { Statements } from './statements.ts';

/** @throws warehouse-too-new */
export async function migrate(
  database: Database,
  now: Date,
  known: readonly Migration[] = migrations(),
): Promise<void> {
  await database.transaction(async (session) => {
    await applyMigrations(session, { where: database.path, known, now });
    const [applied] = await session.all('select sha256 from applied_views');
    if (applied?.sha256 !== views().sha256) await applyViews(session, now);
  });
}

/** Applies migrations inside the caller's transaction, of DuckDB or PostgreSQL. @throws warehouse-too-new */
export async function applyMigrations(
  statements: Statements & Pick<Session, 'script'>,
  { where, known, now }: { readonly where: string; readonly known: readonly Migration[]; readonly now: Date },
): Promise<void> {
  await statements.all('create-migrations');
  const found = Number((await statements.first('migration-number')).found);
  const last = known.at(-1)?.number ?? 0;
  if (found > last) throw new WarehouseError('warehouse-too-new', [where, found, last]);
  for (const { number, name, text } of known.filter((migration) => migration.number > found)) {
    await statements.script(text);
    await statements.all('insert-migration', { number, name, applied_at: now.toISOString() });
  }
}

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

const TABLE_COMMENT =
  'Internal to billsync, and not safe to sum: query the views. May change with any version.';

export function columnMeaning(view: string, column: string): string | undefined {
  return COLUMN_MEANINGS[`${view}.${column}`] ?? COLUMN_MEANINGS[column];
}

/** Statements that store the descriptions in the catalogue of DuckDB, where other tools show them. */
export async function commentsOf(session: Session): Promise<string> {
  const columns = (await session.once('view-columns')) as readonly { view: string; column: string }[];
  const tables = (await session.once('internal-tables')) as readonly { name: string }[];
  const { heads } = views();
  return [
    ...tables.map(({ name }) => `comment on table ${name} is ${quoted(TABLE_COMMENT)};`),
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

export function withoutMarks(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}
