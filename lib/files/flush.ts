/**
 * Flushes to disk, shared by all who ask for the same at once.
 *
 * A failed fsync is an error class of its own, because the kernel forgets the pages it could not write: asking again would say
 * "fine" about bytes that are gone. Who catches an FsyncError ends the process.
 */

import { closeSync, constants, fdatasync, fsync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { BillsyncError, EXIT } from '../wire/errors.ts';

/** A flush to disk failed. Never retried; the process must end and start clean (faults: failed fsync). */
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

/**
 * Flushes a folder's names. Calls that meet share flushes: one that runs already may have begun too early for the
 * newcomer, so all newcomers wait for one more. A thousand deliveries at once thus cost a handful of flushes.
 */
export function syncFolder(path: string): Promise<void> {
  return shareFlush(path, () => flushFolder(path));
}

/** As `syncFolder`, for any flush that covers all that was written before it begins; `key` names what is flushed. */
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

/**
 * Is told of the first flush that failed, whoever asked for it: a part that tries its work again would otherwise fail
 * for ever in a process that can make nothing durable any more. @returns a function that stops listening
 */
export function onFsyncFailure(listener: (error: FsyncError) => void): () => void {
  fsyncListeners.add(listener);
  return () => fsyncListeners.delete(listener);
}

/** Flushes an open file's bytes and size. */
export function syncHandle(handle: { datasync(): Promise<void> }, path: string): Promise<void> {
  return confirm(path, () => handle.datasync());
}

const fdatasyncAsync = promisify(fdatasync);
const fsyncAsync = promisify(fsync);

/** Flushes the bytes and the size of an open file, by its descriptor. */
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

/** After one failure nothing counts as durable any more in this process: a second fsync would lie. */
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
