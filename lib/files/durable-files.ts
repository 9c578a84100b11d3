/**
 * A 2xx answer to the billing service is sent only after `linkDurably` or `appendDurably`. Short calls are direct: a
 * dozen waits for Node's four threads per delivery made answers slow.
 */

import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { BillsyncError, EXIT } from '../errors.ts';
import { systemCode, systemErrorIn } from '../system-errors.ts';
import { temporaryName } from './files.ts';

/**
 * Never retried: the kernel forgets the pages that it could not write, so a second fsync would succeed. The process
 * must end.
 */
export class FsyncError extends BillsyncError {
  readonly code = 'fsync-failed';
  override readonly exitCode = EXIT.checkFailed;
  override readonly hint = 'the disk may be failing: look at the system log, then try again';
  readonly path: string;
  constructor(path: string, cause: unknown) {
    super(`The disk did not confirm ${path}; what was written there may be lost.`, { cause });
    this.path = path;
  }
}

interface Flushes {
  readonly running: Promise<void>;
  next: Promise<void> | null;
}
const flushes = new Map<string, Flushes>();
let broken: FsyncError | null = null;
const fsyncListeners = new Set<(error: FsyncError) => void>();

/** A flush that runs already may have begun too early for a new call, so all new calls share the next one. */
export function syncFolder(path: string): Promise<void> {
  return shareFlush(path, () => flushFolder(path));
}

/** Lets callers share one flush, which covers all that was written before it began. */
export function shareFlush(key: string, flush: () => Promise<void>): Promise<void> {
  const current = flushes.get(key);
  if (current === undefined) return startFlush(key, flush);
  current.next ??= current.running.catch(() => undefined).then(() => startFlush(key, flush));
  return current.next;
}

function startFlush(key: string, flush: () => Promise<void>): Promise<void> {
  const state: Flushes = { running: flush(), next: null };
  flushes.set(key, state);
  const forget = (): void => {
    if (state.next === null && flushes.get(key) === state) flushes.delete(key);
  };
  state.running.then(forget, forget);
  return state.running;
}

export function onFsyncFailure(listener: (error: FsyncError) => void): () => void {
  fsyncListeners.add(listener);
  return () => fsyncListeners.delete(listener);
}

const fdatasyncAsync = promisify(fdatasync);
const fsyncAsync = promisify(fsync);

export function flushBytes(file: number, path: string): Promise<void> {
  return confirm(path, () => fdatasyncAsync(file));
}

async function flushFolder(path: string): Promise<void> {
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await confirm(path, () => fsyncAsync(folder));
  } finally {
    closeSync(folder);
  }
}

/** After one failed flush nothing in this process counts as durable. */
async function confirm(path: string, flush: () => Promise<void>): Promise<void> {
  if (broken !== null) throw broken;
  try {
    await flush();
  } catch (error) {
    broken = new FsyncError(path, error);
    for (const listener of fsyncListeners) listener(broken);
    throw broken;
  }
}

export class FolderError extends BillsyncError {
  readonly code = 'folder';
  override readonly exitCode = EXIT.usage;
}

/** Existing folders keep their mode. @returns the first folder that was made; undefined when all were there */
export async function makeFolders(path: string): Promise<string | undefined> {
  const missing: string[] = [];
  for (let folder = resolve(path); !isFolder(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST' && isFolder(folder)) continue;
      throw cannotBeMade(folder, error);
    }
  }
  return missing[0];
}

function isFolder(path: string): boolean {
  try {
    if (statSync(path).isDirectory()) return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw cannotBeMade(path, error);
  }
  throw new FolderError('a folder is needed where something else is', {
    subject: path,
    hint: 'move it away, or choose another folder',
  });
}

function cannotBeMade(path: string, cause: unknown): FolderError {
  return new FolderError(`a folder cannot be made: ${systemErrorIn(cause)?.problem ?? String(cause)}`, {
    subject: path,
    hint: 'choose a folder that can be written (BILLSYNC_DATA_DIR), or give this user the right to',
    cause,
  });
}

/** Makes a folder and its parents, which are durable when the promise resolves. */
export async function makeFolder(path: string): Promise<void> {
  const whole = resolve(path);
  const first = await makeFolders(whole);
  if (first === undefined) return;
  for (let folder = whole; folder.length >= first.length; folder = dirname(folder)) {
    await syncFolder(dirname(folder));
  }
}

/** Writes and flushes the bytes; the file's name becomes durable only with its folder's flush. */
export async function writeSynced(path: string, bytes: Uint8Array | string): Promise<void> {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    writeFileSync(file, bytes);
    await flushBytes(file, path);
  } finally {
    closeSync(file);
  }
}

/** @returns false when the name is taken; the taken name is durable in either case */
export async function linkDurably(from: string, to: string): Promise<boolean> {
  let isNew = true;
  try {
    linkSync(from, to);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    isNew = false;
  }
  await syncFolder(dirname(to));
  return isNew;
}

/** Never leaves a partial file. @returns false when there was a file of this name */
export async function createDurably(path: string, bytes: Uint8Array | string): Promise<boolean> {
  const part = temporaryName(dirname(path));
  try {
    await writeSynced(part, bytes);
    return await linkDurably(part, path);
  } finally {
    removeSmall(part);
  }
}

/** Replaces a file; readers see the old or the new bytes, never a mixture. */
export async function replaceDurably(path: string, bytes: Uint8Array | string): Promise<void> {
  const part = temporaryName(dirname(path));
  try {
    await writeSynced(part, bytes);
    renameSync(part, path);
  } catch (error) {
    await removeIfThere(part);
    throw error;
  }
  await syncFolder(dirname(path));
}

/**
 * The text is one write, so that lines of several processes do not mix. After an error a part of it may be there, so it should
 * begin with a line end.
 */
export async function appendDurably(path: string, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600);
  try {
    const { size } = fstatSync(file);
    appendWhole(file, bytes, path);
    await shareFlush(path, () => flushBytes(file, path));
    if (size === 0) await syncFolder(dirname(path));
  } finally {
    closeSync(file);
  }
}

/** @throws Error `ENOSPC`; some of the bytes may be written then */
export function appendWhole(file: number, bytes: Uint8Array, path: string): void {
  const written = writeSync(file, bytes);
  if (written === bytes.length) return;
  throw Object.assign(new Error(`${path} took ${written} of ${bytes.length} bytes.`), { code: 'ENOSPC' });
}

export function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

export async function removeIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Removes the name in this thread, in 10 µs instead of 60, so it must be that of a small file, or the file must have another name.
 */
export function removeSmall(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}
