/**
 * Remembers permanently which deliveries were processed: `done/ab/<key>` is an empty marker. The markers of one process are names
 * (hard links) of one file, until the file system allows no more.
 *
 * Markers are not flushed individually, because nearly each is in another of 256 folders. Instead, the keys of a group are
 * appended to `done.log` with one flush, and each opening restores markers that a power failure removed. When the log is long,
 * the folders of its keys are flushed and a new log begins. A log may be renamed while another process appends to it; that
 * process notices it after its flush and appends again.
 */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import {
  appendWhole,
  exists,
  flushBytes,
  makeFolder,
  removeIfThere,
  syncFolder,
} from '../../lib/files/durable-files.ts';
import { namesIn } from '../../lib/files/files.ts';
import { GroupCommit } from '../../lib/group-commit.ts';
import { systemCode } from '../../lib/system-errors.ts';

export interface DoneMarkers {
  has(key: string): boolean;
  /** Resolves once it is durable. @throws FsyncError, or the system's error */
  mark(key: string): Promise<void>;
}

const LOG = 'done.log';
/** About 7,000 keys share the flushes of 256 folders. */
const MAX_LOG_BYTES = 256 * 1024;

/** @param maxLogBytes a longer log is replaced by a new one */
export async function openDoneMarkers(root: string, maxLogBytes = MAX_LOG_BYTES): Promise<DoneMarkers> {
  const folder = join(root, 'done');
  const logPath = join(root, LOG);
  const shards = new Set<string>();
  let rotating: Promise<void> | null = null;
  /** The marker that the next ones link to. */
  let first: string | null = null;
  const pathOf = (key: string): string => join(folder, key.slice(-2), key);

  await makeFolder(folder);
  await rotateLog();

  const marking = new GroupCommit<string, void>(
    async (keys) => {
      const size = await appendToLog(keys);
      for (const key of keys) await createMarker(key);
      // In the background; after a failure the log is read again at the next opening.
      if (size > maxLogBytes)
        rotating ??= rotateLog()
          .catch(() => undefined)
          .finally(() => (rotating = null));
      return keys.map(() => undefined);
    },
    { splitsOnFailure: false },
  );

  /** @returns the size of the log */
  async function appendToLog(keys: readonly string[]): Promise<number> {
    const text = Buffer.from(`\n${keys.map((key) => `${key} done\n`).join('')}`);
    for (;;) {
      const file = openSync(logPath, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600);
      try {
        const { size, ino } = fstatSync(file);
        appendWhole(file, text, logPath);
        await flushBytes(file, logPath);
        if (size === 0) await syncFolder(root);
        if (statSync(logPath, { throwIfNoEntry: false })?.ino === ino) return size + text.length;
      } finally {
        closeSync(file);
      }
    }
  }

  async function createMarker(key: string): Promise<void> {
    const path = pathOf(key);
    const shard = dirname(path);
    if (!shards.has(shard)) {
      try {
        mkdirSync(shard, { mode: 0o700 });
      } catch (error) {
        if (systemCode(error) !== 'EEXIST') throw error;
      }
      shards.add(shard);
    }
    if (first !== null && isLinked(first, path)) return;
    const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    try {
      // Later markers are links to this file.
      await flushBytes(file, path);
    } finally {
      closeSync(file);
    }
    first = path;
  }

  async function rotateLog(): Promise<void> {
    if (exists(logPath)) {
      try {
        renameSync(logPath, `${logPath}.${randomBytes(4).toString('hex')}`);
      } catch (error) {
        // ENOENT: another process has rotated it.
        if (systemCode(error) !== 'ENOENT') throw error;
      }
    }
    for (const name of await namesIn(root)) {
      if (name.startsWith(`${LOG}.`)) await flushMarkers(join(root, name));
    }
  }

  /** Makes the markers of a log durable and removes the log. */
  async function flushMarkers(path: string): Promise<void> {
    const keys = keysIn(path);
    for (const [i, key] of keys.entries()) {
      if (!exists(pathOf(key))) await createMarker(key);
      // Requests are served meanwhile.
      if (i % 200 === 199) await setImmediate();
    }
    for (const shard of new Set(keys.map((key) => dirname(pathOf(key))))) await syncFolder(shard);
    await syncFolder(folder);
    await removeIfThere(path);
  }

  return { has: (key) => exists(pathOf(key)), mark: (key) => marking.do(key) };
}

/** false when the file allows no more links, or is gone. */
function isLinked(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch (error) {
    return systemCode(error) === 'EEXIST';
  }
}

/** A torn line was never confirmed, so it is ignored. */
function keysIn(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    const [, key] = /^((?:(?:test|refused)\.)?[0-9a-z][0-9a-z_-]{1,127}) done$/.exec(line) ?? [];
    return key === undefined ? [] : [key];
  });
}
