/**
 * The draft of a rebuild: one that was interrupted goes on where it was, since every transaction of it leaves a warehouse that reads
 * on in the archive. It is begun anew where that could end in anything else than an uninterrupted rebuild: when it was made
 * by another version or of another archive, when it came to the end of the loads, when a record of the archive was set aside (it may be whole by now), and when a file was
 * purged of which it has rows.
 */

import { readRetention } from '../../archive/retention.js';
import { exists } from '../../ops/durable-files.js';
import { version } from '../../ops/version.js';
import { type Database, removeDatabase } from '../duckdb/database.js';
import { migrate } from '../duckdb/migrate.js';
import { views } from '../duckdb/sql.js';
import type { RebuildOptions } from '../opening.js';
import { schemaNumber } from '../schema-number.js';

export interface Draft {
  readonly database: Database;
  /** What an interrupted rebuild had taken in already; null: nothing, it begins. */
  readonly done: { readonly events: number; readonly loads: number } | null;
}

/** Nobody else may have it: the caller holds the lock of the warehouse. @param open opens, and makes, the file */
export async function openDraft(
  options: RebuildOptions,
  { path, open, now }: { readonly path: string; readonly open: () => Promise<Database>; readonly now: Date },
): Promise<Draft> {
  const left = await goOn(options, path, open);
  if (left !== null) return left;
  await removeDatabase(path);
  const database = await open();
  await migrate(database, now);
  await database.all('write-cursor', { stream: 'draft', position: madeOf(options) });
  return { database, done: null };
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
    const [state] = await database.all('draft-state');
    const isSame = state?.made_of === madeOf(options) && state.is_open === true && state.set_aside === 0;
    if (isSame && !(await hasPurged(options, database))) {
      const done = { events: Number(state.events), loads: Number(state.loads) };
      options.log.info(done, 'going on with the rebuild that was interrupted');
      return { database, done };
    }
  } catch (error) {
    options.log.warn({ err: error, path }, 'what an interrupted rebuild left cannot be used');
  }
  database?.close();
  return null;
}

function madeOf({ settings: { archive } }: RebuildOptions): string {
  return JSON.stringify({ version: version(), schema: schemaNumber(), views: views().sha256, archive });
}

async function hasPurged({ archive }: RebuildOptions, database: Database): Promise<boolean> {
  const { purgedFiles } = await readRetention(archive);
  if (purgedFiles.size === 0) return false;
  return (await database.all('draft-files')).some(({ file_sha256: file }) => purgedFiles.has(String(file)));
}
