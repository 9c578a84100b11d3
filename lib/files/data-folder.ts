/**
 * The layout of the data folder. `archive/`, `inbox/`, `keys/` and `user/` are backed up; everything else can be made again, and `run/`
 * may be deleted while nothing runs.
 */

import { join } from 'node:path';

export function dataFolder(dataDir: string) {
  const inRun = (name: string): string => join(dataDir, 'run', name);
  return {
    inbox: join(dataDir, 'inbox'),
    quarantine: join(dataDir, 'inbox', 'quarantine'),
    keys: join(dataDir, 'keys'),
    /** The files that people make; over a lake they are in PostgreSQL (lib/user-store.ts). */
    user: join(dataDir, 'user'),
    run: join(dataDir, 'run'),
    temporary: inRun('tmp'),
    uploads: inRun('uploads'),
    loadAttempts: inRun('load-attempts'),
    archiveCache: inRun('archive-cache'),
    embeddedTemporal: inRun('temporal.json'),
  };
}

/** A damaged database is moved into a folder beside it, because a rename cannot leave a file system. */
export function asideFolder(folderOfDatabase: string): string {
  return join(folderOfDatabase, 'run', 'aside');
}
