/** The archive on this machine's disk: `events/`, `files/` and `facts/` in one folder, which also several processes may share. */

import { join } from 'node:path';
import { exists, makeFolder } from '../lib/files/durable-files.ts';
import { sweepLeftBehind } from '../lib/files/files.ts';
import { BillsyncError, EXIT } from '../lib/wire/errors.ts';
import type { Archive } from './archive.ts';
import { openEventFolder } from './event-folder.ts';
import { openFactFolder } from './fact-folder.ts';
import { openFileFolder, shardsIn } from './file-folder.ts';
import { hashFile } from './hash-file.ts';
import { archiveOf } from './stores.ts';

/** Nothing is written meanwhile: it would lie in a folder that is hidden once the volume is mounted again. */
export class ArchiveAwayError extends BillsyncError {
  readonly code = 'archive-away';
  override readonly exitCode = EXIT.unreachable;

  constructor(root: string, hint = 'mount its volume again') {
    super('The folder holds no archive any more', { subject: root, hint });
  }
}

/** What an archive has from its first moment on; without it the folder is not the archive's, or its volume is not mounted. */
export function isArchiveThere(root: string): boolean {
  return exists(join(root, 'events', 'journal')) && exists(join(root, 'facts'));
}

/** Opens (and makes) an archive in a folder; what a dead process left unfinished is swept away. */
export async function openFolderArchive(root: string): Promise<Archive> {
  await makeFolder(root);
  const events = await openEventFolder(join(root, 'events'));
  const files = await openFileFolder(join(root, 'files'));
  const facts = await openFactFolder(join(root, 'facts'));
  await sweepLeftBehind(join(root, 'events'));
  for (const shard of await shardsIn(join(root, 'files'))) await sweepLeftBehind(join(root, 'files', shard));

  function requireThere(): void {
    if (!isArchiveThere(root)) throw new ArchiveAwayError(root);
  }

  return archiveOf({
    events: {
      ...events,
      async put(event) {
        requireThere();
        return events.put(event);
      },
    },
    facts: {
      ...facts,
      async put(fact) {
        requireThere();
        return facts.put(fact);
      },
    },
    files: {
      async put(path, { sha256, sizeBytes, scan }) {
        requireThere();
        const known = await files.get(sha256);
        const isDamaged = known !== null && (await hashFile(files.path(sha256))) !== sha256;
        if (!isDamaged || (await hashFile(path)) !== sha256)
          return files.put(path, { sha256, sizeBytes, scan });
        await files.replace(path, known);
        return known;
      },
      get: files.get,
      async localPath(sha256) {
        if ((await files.get(sha256)) === null) throw new Error(`The archive has no file ${sha256}.`);
        return files.path(sha256);
      },
      async reread(sha256) {
        const path = files.path(sha256);
        if (!exists(path)) return null;
        const found = await hashFile(path);
        return { sha256: found, path: found === sha256 ? path : null };
      },
      list: files.list,
      remove: files.remove,
    },
    // Nothing is held open between two calls.
    close: async () => undefined,
  });
}
