/**
 * The draft of a rebuild, a file's or a lake's: one that was interrupted goes on where it was, since every transaction of it leaves a
 * warehouse that reads on in the archive. It is begun anew where that could end in anything else than an uninterrupted rebuild: when it was made
 * by another version or of another archive, when it came to the end of the loads, when a record of the archive was set aside (it may be whole by now), and when a file was
 * purged of which it has rows.
 */

import { readRetention } from '../../archive/retention.ts';
import { exists } from '../../lib/files/durable-files.ts';
import { version } from '../../lib/runtime.ts';
import { type Database, removeDatabase } from '../duckdb/database.ts';
import { migrate } from '../duckdb/migrate.ts';
import { views } from '../duckdb/sql.ts';
import type { Ledgers } from '../duckdb/statements.ts';
import type { RebuildOptions } from '../opening.ts';
import { schemaNumber } from '../schema-number.ts';

export interface Draft {
  readonly database: Database;
  /** null: it begins. */
  readonly done: DoneBefore | null;
}

/** What an interrupted rebuild had taken in already. */
export interface DoneBefore {
  readonly events: number;
  readonly loads: number;
}

/** Nobody else may have it: the caller holds the lock of the warehouse. @param open opens, and makes, the file */
export async function openPartialRebuild(
  options: RebuildOptions,
  { path, open, now }: { readonly path: string; readonly open: () => Promise<Database>; readonly now: Date },
): Promise<Draft> {
  const left = await goOn(options, path, open);
  if (left !== null) return left;
  await removeDatabase(path);
  const database = await open();
  await migrate(database, now);
  await markPartialRebuild(options, database);
  return { database, done: null };
}

/** Notes of what it is made, in ledgers that have just been made. */
export async function markPartialRebuild(
  options: RebuildOptions,
  ledgers: Pick<Ledgers, 'all'>,
): Promise<void> {
  await ledgers.all('insert-cursor', { stream: 'draft', position: madeOf(options) });
}

/** @returns null when what an interrupted rebuild left in these ledgers may not go on */
export async function resumePartialRebuild(
  options: RebuildOptions,
  ledgers: Pick<Ledgers, 'all'>,
): Promise<DoneBefore | null> {
  const [state] = await ledgers.all('partial-rebuild-state');
  const isSame = state?.made_of === madeOf(options) && state.is_open === true && state.set_aside === 0;
  if (!isSame || (await hasPurged(options, ledgers))) return null;
  const done = { events: Number(state.events), loads: Number(state.loads) };
  options.log.info(done, 'going on with the rebuild that was interrupted');
  return done;
}

/** null when there is none, or none that may go on. */
async function goOn(
  options: RebuildOptions,
  path: string,
  open: () => Promise<Database>,
): Promise<Draft | null> {
  if (!exists(path)) return null;
  let database: Database | null = null;
  try {
    database = await open();
    const done = await resumePartialRebuild(options, database);
    if (done !== null) return { database, done };
  } catch (error) {
    options.log.warn({ err: error, path }, 'what an interrupted rebuild left cannot be used');
  }
  database?.close();
  return null;
}

function madeOf({ settings: { archive } }: RebuildOptions): string {
  return JSON.stringify({ version: version(), schema: schemaNumber(), views: views().sha256, archive });
}

async function hasPurged({ archive }: RebuildOptions, ledgers: Pick<Ledgers, 'all'>): Promise<boolean> {
  const { purgedFiles } = await readRetention(archive);
  if (purgedFiles.size === 0) return false;
  return (await ledgers.all('partial-rebuild-files')).some(({ file_sha256: file }) =>
    purgedFiles.has(String(file)),
  );
}
