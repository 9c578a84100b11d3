/**
 * The files that people make. Over a lake they are in PostgreSQL (warehouse/lake/user-files.ts), so that all machines
 * have the same.
 */

import { lstatSync, statSync } from 'node:fs';
import { readdir, truncate } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { EXIT, errorClass } from './errors.ts';
import { dataFolder } from './files/data-folder.ts';
import { appendDurably, makeFolder, removeIfThere, replaceDurably } from './files/durable-files.ts';
import { readIfThere, replaceFile } from './files/files.ts';
import { takeLock } from './files/lock-file.ts';
import { isTrustedOwner, userName } from './files/trusted-path.ts';
import { createSemaphore, type Semaphore } from './semaphore.ts';
import { addPathToError, systemCode } from './system-errors.ts';

export interface UserStore {
  readonly isShared: boolean;
  read(path: string): Promise<Buffer | null>;
  list(folder: string): Promise<readonly string[]>;
  /**
   * `to` returns null to change nothing, and is called again when the file changed meanwhile. `isFlushed: false`
   * where a power cut may undo the change.
   */
  change(
    path: string,
    to: (before: Buffer | null) => Uint8Array | string | null,
    options?: { readonly isFlushed?: boolean },
  ): Promise<boolean>;
  /** The line is durable when the promise resolves. A last line without its end was never confirmed and is replaced. */
  append(path: string, toLine: (before: Buffer) => string): Promise<void>;
  remove(path: string): Promise<boolean>;
  place(path: string): string;
}

export const USER_FILES = {
  alerts: 'alerts.json',
  audit: 'audit/log.ndjson',
  claims: 'disputes/journal.ndjson',
  claimWindows: 'claim-windows.yaml',
  costFindings: 'cost-findings.json',
  costRules: 'cost-rules.yaml',
  gapAnswers: 'gaps.ndjson',
  months: 'months.ndjson',
  reportFiles: 'report-files',
  /** Earlier contents of files that were given, by path and instant. */
  replaced: 'replaced',
  savedViews: 'saved-views.json',
  sentStatements: 'sent-statements',
  statementHeads: 'statement-heads.yaml',
  statementLogo: 'statement-logo.jpg',
} as const;

class UserStoreError extends errorClass({
  'user-file-busy': {
    message: 'Another process%s keeps %s locked',
    exitCode: EXIT.locked,
    hint: 'nothing was changed: end that process if it hangs, then try again',
  },
  'user-file-foreign': {
    message: '%s is not read: it belongs to %s, or every user may write to it',
    exitCode: EXIT.usage,
    hint: 'another user may have planted it: look at it, then make it yours alone (chown, chmod go-w) or remove it',
  },
}) {}

const WRITABLE_BY_ALL = 0o002;
const storesElsewhere = new Map<string, () => Promise<UserStore>>();

/** @param open null means that the files are in `user` of the data folder */
export function registerUserStore(dataDir: string, open: (() => Promise<UserStore>) | null): void {
  if (open === null) storesElsewhere.delete(resolve(dataDir));
  else storesElsewhere.set(resolve(dataDir), open);
}

export async function userStore(dataDir: string): Promise<UserStore> {
  return storesElsewhere.get(resolve(dataDir))?.() ?? folderStore(dataFolder(dataDir).user);
}

export async function createUserFile(
  store: UserStore,
  path: string,
  bytes: Uint8Array | string,
): Promise<boolean> {
  return store.change(path, (before) => (before === null ? bytes : null));
}

/** A change waits for longer than the lock of a killed process in another container stays valid (lock-file.ts). */
const PATIENCE_MS = 40_000;
const LINE_END = 0x0a;
/** Changes of this process wait for each other here, which is faster than by the lock. */
const turnsOfFiles = new Map<string, Semaphore>();

export function wholeLines(file: Buffer | null): Buffer {
  return file === null ? Buffer.alloc(0) : file.subarray(0, file.lastIndexOf(LINE_END) + 1);
}

/** Rules and views decide what is reported. The user of the data folder may be another one than the reader. */
function refuseForeign(path: string, dataDir: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  const owner = statSync(dataDir).uid;
  const isForeign = found.uid !== owner && !isTrustedOwner(found.uid);
  if (isForeign || (!found.isSymbolicLink() && (found.mode & WRITABLE_BY_ALL) !== 0))
    throw new UserStoreError('user-file-foreign', [path, userName(found.uid)]);
}

export function folderStore(folder: string): UserStore {
  const place = (path: string): string => join(folder, path);
  const read = async (path: string): Promise<Buffer | null> => {
    refuseForeign(place(path), dirname(folder));
    return readIfThere(place(path)).catch(addPathToError(place(path)));
  };

  async function locked<T>(path: string, work: () => Promise<T>): Promise<T> {
    const turn = turnsOfFiles.get(place(path)) ?? createSemaphore(1);
    turnsOfFiles.set(place(path), turn);
    return turn(async () => {
      await makeFolder(dirname(place(path))).catch(addPathToError(place(path)));
      const lock = await takeLock(`${place(path)}.lock`, {
        ...{ role: 'user', now: new Date(), patienceMs: PATIENCE_MS },
        refusal: (_, owner) =>
          new UserStoreError('user-file-busy', [owner === null ? '' : ` (pid ${owner.pid})`, place(path)]),
      });
      try {
        return await work();
      } finally {
        await lock.release();
      }
    });
  }

  return {
    isShared: false,
    place,
    read,
    async list(below) {
      const entries = await readdir(place(below), { recursive: true, withFileTypes: true }).catch(
        (error: unknown) => {
          if (systemCode(error) === 'ENOENT') return [];
          throw error;
        },
      );
      return entries
        .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !entry.name.endsWith('.lock'))
        .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
        .sort();
    },
    async change(path, to, { isFlushed = true } = {}) {
      // A change that changes nothing needs no lock and no folder.
      if (to(await read(path)) === null) return false;
      return locked(path, async () => {
        const bytes = to(await read(path));
        if (bytes === null) return false;
        if (isFlushed) await replaceDurably(place(path), bytes).catch(addPathToError(place(path)));
        else replaceFile(place(path), bytes);
        return true;
      });
    },
    async append(path, toLine) {
      toLine(wholeLines(await read(path)));
      await locked(path, async () => {
        const bytes = await read(path);
        const before = wholeLines(bytes);
        if (bytes !== null && before.length < bytes.length)
          await truncate(place(path), before.length).catch(addPathToError(place(path)));
        await appendDurably(place(path), toLine(before)).catch(addPathToError(place(path)));
      });
    },
    remove: (path) => locked(path, () => removeIfThere(place(path))),
  };
}
