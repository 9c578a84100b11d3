/** The archive on this machine's disk: `events/`, `files/` and `facts/` in one folder, which also several processes may share. */

import { join } from 'node:path';
import { exists, makeFolder } from '../ops/durable-files.js';
import { sweepLeftBehind } from '../ops/temporary-names.js';
import type { Archive } from './archive.js';
import { openEventFolder } from './event-folder.js';
import { openFactFolder } from './fact-folder.js';
import { openFileFolder, shardsIn } from './file-folder.js';
import { hashFile } from './hash-file.js';
import { archiveOf } from './stores.js';

/** Opens (and makes) an archive in a folder; what a dead process left unfinished is swept away. */
export async function openFolderArchive(root: string): Promise<Archive> {
  await makeFolder(root);
  const events = await openEventFolder(join(root, 'events'));
  const files = await openFileFolder(join(root, 'files'));
  const facts = await openFactFolder(join(root, 'facts'));
  await sweepLeftBehind(join(root, 'events'));
  for (const shard of await shardsIn(join(root, 'files'))) await sweepLeftBehind(join(root, 'files', shard));

  return archiveOf({
    events,
    facts,
    files: {
      async put(path, { sha256, sizeBytes, scan }) {
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
