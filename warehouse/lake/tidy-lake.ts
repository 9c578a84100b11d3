/**
 * Keeps a lake quick and small: every load is a file of its own, so many small ones become few large ones, and what
 * no look at the lake needs any more is removed. One process does it at a time; writers and readers go on meanwhile.
 */

import type { Database } from '../duckdb/database.ts';
import type { Row } from '../duckdb/statements.ts';
import type { Tidied } from '../warehouse.ts';
import type { Ledger } from './ledger.ts';
import { removeLeftovers } from './leftovers.ts';

export interface TidyOptions {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly now: Date;
  /** How long files stay that a reader who began before may still read. */
  readonly keepMs?: number;
  /** Fewer small files than this are left alone: merging rewrites them. */
  readonly leastFiles?: number;
}

const DAY_MS = 86_400_000;
const LEAST_FILES = 64;
/** Limit of one statement, which merges the files of a whole lake or lists a bucket. */
const LIMIT_MS = 6 * 3_600_000;
/** Small neighbouring files become large ones. */
const MERGE =
  "select coalesce(sum(files_processed), 0)::integer as merged from ducklake_merge_adjacent_files('lake')";

/** @returns null when another process is at it */
export function tidyLake(options: TidyOptions): Promise<Tidied | null> {
  const { database, ledger, now, keepMs = DAY_MS, leastFiles = LEAST_FILES } = options;
  return ledger.tidying(async () => {
    const leftovers = await removeLeftovers(database, ledger);
    const count = async (name: string, params = {}): Promise<Row> =>
      (await database.use((session) => session.once(name, params, LIMIT_MS)))[0] ?? {};
    const { files } = await count('small-files');
    const merged = Number(files) < leastFiles ? 0 : Number((await count(MERGE)).merged);
    const older_than = new Date(now.getTime() - keepMs).toISOString();
    const remove = (of: string): Promise<Row> =>
      count(
        `select count(*)::integer as removed from ${of}('lake', older_than => $older_than::timestamptz)`,
        {
          older_than,
        },
      );
    // The catalogue forgets how the lake looked before; then files go that no look uses, and those that a writer never told of.
    await remove('ducklake_expire_snapshots');
    const { removed } = await remove('ducklake_cleanup_old_files');
    const strays = await remove('ducklake_delete_orphaned_files');
    return {
      mergedFiles: merged,
      removedFiles: Number(removed) + Number(strays.removed),
      removedLoads: leftovers.length,
    };
  });
}
