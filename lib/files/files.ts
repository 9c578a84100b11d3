import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { copyFile, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { isAlive } from '../processes.ts';
import { addPathToError, systemCode, withPathInErrors } from '../system-errors.ts';

export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A pid on a shared folder means nothing to another machine or container. */
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
/** A new container often has the pid of a former one. */
const RUN = randomBytes(4).toString('hex');
let namesGiven = 0;

/**
 * A later process removes the files of a dead one. Only for the main thread: files of other threads would be removed.
 */
export function temporaryName(folder: string): string {
  namesGiven += 1;
  return join(folder, `.${HOST}-${process.pid}-${RUN}${namesGiven.toString(16).padStart(8, '0')}.tmp`);
}

/** Removes temporary files of ended processes; files of another machine when they are a day old. */
export async function sweepLeftBehind(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (isLeftBehind(folder, name)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

const LONG_AGO_MS = 24 * 60 * 60_000;

function isLeftBehind(folder: string, name: string): boolean {
  const [, host, pid, run] = /^\.([0-9a-f]{8})-(\d+)-([0-9a-f]{8})[0-9a-f]{8}\.tmp$/.exec(name) ?? [];
  if (pid === undefined) return false;
  if (host !== HOST) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return found !== undefined && Date.now() - found.mtimeMs > LONG_AGO_MS;
  }
  return Number(pid) === process.pid ? run !== RUN : !isAlive(Number(pid));
}

/** Replaces a file without a flush. The file has mode 0600, new folders have 0700. */
export function replaceFile(path: string, text: Uint8Array | string): void {
  const temporary = temporaryName(dirname(path));
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  withPathInErrors(temporary, () => writeFileSync(temporary, text, { mode: 0o600 }));
  renameSync(temporary, path);
}

export function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  });
}

/** A device or a pipe is written to as it is. */
export async function writeWhole(
  path: string,
  body: string | Uint8Array | AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found !== null && !found.isFile()) return await writeFile(path, body).catch(addPathToError(path));
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  try {
    await writeFile(part, body).catch(addPathToError(part));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw Object.assign(error as Error, { path });
  }
}

/** `end` is exclusive; fewer bytes are returned when the file ends before it. */
export function readRange(
  path: string,
  { from, end }: { readonly from: number; readonly end: number },
): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - from));
  if (bytes.length === 0) return bytes;
  const file = openSync(path, constants.O_RDONLY);
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
}

/** Returns a text that changes when the file is replaced or written to. @throws the system's error (`ENOENT`, …) */
export async function identityOf(path: string): Promise<string> {
  const { dev, ino, mtimeNs, ctimeNs, size } = await stat(path, { bigint: true });
  return [dev, ino, mtimeNs, ctimeNs, size].join('/');
}

/** Returns how many bytes were written: none where the file system lets both files share their blocks. */
export async function copyOrShare(from: string, to: string): Promise<number> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE);
    return 0;
  } catch {
    await rm(to, { force: true });
    await copyFile(from, to);
    return (await stat(to)).size;
  }
}
