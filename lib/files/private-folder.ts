/** Another user who can write to the data folder could plant a key, and read or forge all that the key protects. */

import type { Stats } from 'node:fs';
import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { dataFolder } from './data-folder.ts';
import { FolderError, makeFolders } from './durable-files.ts';

const WRITABLE_BY_OTHERS = 0o022;
const WRITABLE_BY_ALL = 0o002;
const OPEN_TO_OTHERS = 0o077;
const SET_GROUP_ID = 0o2000;
const WITH_SECRETS = ['keys', 'inbox', 'inbox/quarantine', 'run', 'user', 'user/audit'] as const;

export async function keepPrivate(dataDir: string): Promise<void> {
  await makeFolders(dataDir);
  const isOpen = await isOpenToAll(dataDir);
  const folder = await stat(dataDir);
  const keys = await namesIn(dataFolder(dataDir).keys);
  const trusted = new Set([process.getuid?.() ?? folder.uid, 0]);
  const isVolume = isGroupVolume(folder);
  const writableByOthers = isVolume ? WRITABLE_BY_ALL : WRITABLE_BY_OTHERS;
  if ((folder.mode & writableByOthers) !== 0) {
    if (keys.length > 0)
      throw suspicious(dataDir, 'others may write to the data folder, and keys lie in it', dataDir);
    // A folder of another user, such as a mounted volume, keeps its mode; the folders in it are checked.
    if (folder.uid === process.getuid?.() && !isOpen) await chmod(dataDir, 0o700);
  } else trusted.add(folder.uid);
  // Links are not followed: the owner of a link chose its target.
  for (const name of await namesIn(dataDir)) {
    const { uid } = await lstat(join(dataDir, name));
    if (!trusted.has(uid)) throw suspicious(join(dataDir, name), 'it belongs to another user', dataDir);
  }
  if (isOpen) throw suspicious(dataDir, OPEN_TO_ALL, dataDir);
  for (const name of WITH_SECRETS) await keepFolderPrivate(join(dataDir, name), trusted, dataDir);
  for (const name of keys) {
    const path = join(dataFolder(dataDir).keys, name);
    const file = await stat(path);
    const { uid } = await lstat(path);
    if (!trusted.has(uid)) throw suspicious(path, 'a link to a key belongs to another user', dataDir);
    if (!trusted.has(file.uid)) throw suspicious(path, 'a key belongs to another user', dataDir);
    // Kubernetes makes each file of the volume writable by its group, again at each mount.
    const others = file.gid === folder.gid ? writableByOthers : WRITABLE_BY_OTHERS;
    if ((file.mode & others) !== 0) throw suspicious(path, 'others may write to a key', dataDir);
    if ((file.mode & OPEN_TO_OTHERS) !== 0) await chmod(path, 0o600);
  }
}

export function isGroupVolume({ uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>): boolean {
  const groups = [process.getegid?.(), ...(process.getgroups?.() ?? [])];
  return uid === 0 && process.getuid?.() !== 0 && (mode & SET_GROUP_ID) !== 0 && groups.includes(gid);
}

export async function refuseOpenToAll(dataDir: string): Promise<void> {
  if (await isOpenToAll(dataDir)) throw suspicious(dataDir, OPEN_TO_ALL, dataDir);
}

export const OPEN_TO_ALL = 'every user of this machine may write to the data folder';

/** Applies to non-empty folders of this user; an empty one gets its mode at the first write. */
export async function isOpenToAll(dataDir: string): Promise<boolean> {
  const folder = await stat(dataDir).catch(() => null);
  if (folder === null || folder.uid !== process.getuid?.()) return false;
  return (folder.mode & WRITABLE_BY_ALL) !== 0 && (await namesIn(dataDir)).length > 0;
}

async function keepFolderPrivate(path: string, trusted: ReadonlySet<number>, dataDir: string): Promise<void> {
  const folder = await stat(path).catch(() => null);
  if (folder === null) return;
  if (!trusted.has(folder.uid))
    throw suspicious(path, 'a folder of billsync belongs to another user', dataDir);
  if ((folder.mode & OPEN_TO_OTHERS) !== 0) await chmod(path, 0o700);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

function suspicious(path: string, what: string, dataDir: string): FolderError {
  return new FolderError(what, {
    subject: path,
    hint: `another user may have planted it: check that all of it is yours, then \`chown -R $(id -u) ${dataDir} && chmod -R go-rwx ${dataDir}\``,
  });
}
