/**
 * Remembers permanently which deliveries were dealt with: `done/ab/<key>` is an empty marker. Those that one process makes are names
 * (hard links) of one file, as long as the file system takes another: a name costs a fifth of a file.
 *
 * A marker is not flushed by itself, for nearly each lies in a folder of its own, of which there are 256. Its key is: those that
 * are marked together share a line of `done.log` each and one flush. From the log every opening makes again what a power cut took. Once it is
 * long, the folders that it names are flushed, and it begins anew. It may be renamed while another process writes to it; who
 * finds that after its flush writes again.
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
import { namedBy } from './inbox-entry.ts';

export interface DoneMarkers {
  has(key: string): boolean;
  /** Resolves once it is durable. @throws FsyncError, or the system's error */
  mark(key: string): Promise<void>;
}

const LOG = 'done.log';
/** About 7,000 keys: so many share the flushes of 256 folders, and an opening makes them again in a moment. */
const LONG_BYTES = 256 * 1024;

/** Opens (and makes) the markers below an inbox. @param longBytes from which length on the log begins anew */
export async function openDoneMarkers(root: string, longBytes = LONG_BYTES): Promise<DoneMarkers> {
  const folder = join(root, 'done');
  const logPath = join(root, LOG);
  const shards = new Set<string>();
  let beginning: Promise<void> | null = null;
  /** A marker of ours that the next ones are names of. */
  let first: string | null = null;
  const pathOf = (key: string): string => join(folder, key.slice(-2), key);

  await makeFolder(folder);
  await beginAnew();

  const marking = new GroupCommit<string, void>(
    async (keys) => {
      const size = await log(keys);
      for (const key of keys) await make(key);
      // Nobody waits for it: what is not removed is only read once more.
      if (size > longBytes)
        beginning ??= beginAnew()
          .catch(() => undefined)
          .finally(() => (beginning = null));
      return keys.map(() => undefined);
    },
    { splitsOnFailure: false },
  );

  /** @returns how long the log is now */
  async function log(keys: readonly string[]): Promise<number> {
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

  async function make(key: string): Promise<void> {
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
    if (first !== null && isNamed(first, path)) return;
    const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    try {
      // Many names will stand for it.
      await flushBytes(file, path);
    } finally {
      closeSync(file);
    }
    first = path;
  }

  async function beginAnew(): Promise<void> {
    if (exists(logPath)) {
      try {
        renameSync(logPath, `${logPath}.${randomBytes(4).toString('hex')}`);
      } catch (error) {
        // Another process was faster.
        if (systemCode(error) !== 'ENOENT') throw error;
      }
    }
    for (const name of await namesIn(root)) {
      if (name.startsWith(`${LOG}.`)) await settle(join(root, name));
    }
  }

  /** Makes all that a log names durable by itself, and removes it. */
  async function settle(path: string): Promise<void> {
    const keys = keysIn(path);
    for (const [i, key] of keys.entries()) {
      if (!exists(pathOf(key))) await make(key);
      // Deliveries are answered meanwhile.
      if (i % 200 === 199) await setImmediate();
    }
    for (const shard of new Set(keys.map((key) => dirname(pathOf(key))))) await syncFolder(shard);
    await syncFolder(folder);
    await removeIfThere(path);
  }

  return { has: (key) => exists(pathOf(key)), mark: (key) => marking.do(key) };
}

/** false when the file can have no more names, or is gone. */
function isNamed(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch (error) {
    return systemCode(error) === 'EEXIST';
  }
}

/** A line that a power cut or a full disk tore names nothing: nobody was told that it is there. */
function keysIn(path: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    const [, key] = /^(\S+) done$/.exec(line) ?? [];
    return key === undefined || namedBy(key) === null ? [] : [key];
  });
}
