import { join } from 'node:path';
import { exists, makeFolder } from '../lib/files/durable-files.ts';
import { sweepLeftBehind } from '../lib/files/files.ts';
import type { Archive } from './archive.ts';
import { ArchiveError } from './errors.ts';
import { openEventFolder } from './folder-events.ts';
import { openFactFolder } from './folder-facts.ts';
import { openFileFolder, shardsIn } from './folder-files.ts';
import { hashFile } from './records.ts';

export function isArchiveThere(root: string): boolean {
  return exists(join(root, 'events', 'journal')) && exists(join(root, 'facts'));
}

export async function openFolderArchive(root: string): Promise<Archive> {
  if (exists(join(root, 'events', 'by-id')) || exists(join(root, 'events', 'log')))
    throw new ArchiveError('other-layout', ['a bucket', 'a folder'], { subject: root });
  await makeFolder(root);
  const events = await openEventFolder(join(root, 'events'));
  const files = await openFileFolder(join(root, 'files'));
  const facts = await openFactFolder(join(root, 'facts'));
  await sweepLeftBehind(join(root, 'events'));
  for (const shard of await shardsIn(join(root, 'files'))) await sweepLeftBehind(join(root, 'files', shard));

  function requireThere(): void {
    if (!isArchiveThere(root)) throw new ArchiveError('archive-away', [], { subject: root });
  }

  return {
    ...events,
    async putEvent(event) {
      requireThere();
      return events.putEvent(event);
    },
    ...facts,
    async putFact(fact) {
      requireThere();
      return facts.putFact(fact);
    },
    async putFile(path, file) {
      requireThere();
      const { sha256 } = file;
      const known = await files.get(sha256);
      const isDamaged = known !== null && (await hashFile(files.path(sha256))) !== sha256;
      if (!isDamaged || (await hashFile(path)) !== sha256) return files.put(path, file);
      await files.replace(path, known);
      return known;
    },
    file: files.get,
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
    files: files.list,
    removeFile: files.remove,
    close: async () => undefined,
  };
}
