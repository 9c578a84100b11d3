/**
 * The few ways in which billsync puts bytes on disk so that they survive a kill -9 and a power cut.
 *
 * Names and bytes go into the page cache by direct calls, which take microseconds; only flushes (flush.ts) and removals of files
 * that may be large, which wait for the disk, go to Node's four threads. A dozen such waits per delivery made answers slow under load.
 *
 * Everything that is promised to the billing service rests on these functions: a 2xx is only sent after `linkDurably` resolved.
 */

import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { flushBytes, shareFlush, syncFolder } from './flush.ts';
import { makeFolders } from './make-folders.ts';
import { temporaryName } from './temporary-names.ts';

/** The `code` of a system error (`ENOSPC`, `EEXIST`, …), or null for anything else. */
export function systemCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** Makes a folder (0700) with its parents, each entry durable. */
export async function makeFolder(path: string): Promise<void> {
  const whole = resolve(path);
  const first = await makeFolders(whole);
  if (first === undefined) return;
  for (let folder = whole; folder.length >= first.length; folder = dirname(folder)) {
    await syncFolder(dirname(folder));
  }
}

/** Writes a new file (0600) and flushes its bytes; the name becomes durable only with its folder's flush. */
export async function writeSynced(path: string, bytes: Uint8Array | string): Promise<void> {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    writeFileSync(file, bytes);
    await flushBytes(file, path);
  } finally {
    closeSync(file);
  }
}

/**
 * Publishes a finished file under a second, exclusive name: whoever comes second is told so.
 *
 * @returns false when the name is taken; the taken name is durable in either case
 */
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

/**
 * Makes a file (0600) with all of its bytes unless there is one: of those who start at once one wins, none reads a half.
 *
 * @returns false when there was one
 */
export async function createDurably(path: string, bytes: Uint8Array | string): Promise<boolean> {
  const part = temporaryName(dirname(path));
  try {
    await writeSynced(part, bytes);
    return await linkDurably(part, path);
  } finally {
    removeSmall(part);
  }
}

/** Replaces a file as a whole: readers see the old or the new bytes, never a mixture. */
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
 * Appends text in one write, so that the lines of processes side by side do not mix, and flushes it; calls that meet
 * share flushes. The file (0600) is made when it is missing.
 *
 * @throws FsyncError, or the system's error; then part of the text may be there, so begin with a line end
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

/** One write to a file that is open for appending. @throws Error `ENOSPC`; part of the bytes is there then */
export function appendWhole(file: number, bytes: Uint8Array, path: string): void {
  const written = writeSync(file, bytes);
  if (written === bytes.length) return;
  throw Object.assign(new Error(`${path} took ${written} of ${bytes.length} bytes.`), { code: 'ENOSPC' });
}

/** Whether anything is at the path. @throws Error it cannot be told (no permission) */
export function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** @returns whether there was something to remove */
export async function removeIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** As `removeIfThere`, directly, for a name whose file is small or has another name: 10 µs instead of 60 by a thread. */
export function removeSmall(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}
