/**
 * The lock of a dead process is taken over. A process of another container or machine cannot be seen, so owners touch
 * their lock, and one that is not touched for long is free.
 */

import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isStillRunning, ownIdentity, ownNamespace, type ProcessIdentity } from '../processes.ts';
import { addPathToError } from '../system-errors.ts';
import { jsonOrNull } from '../text.ts';
import { readIfThere, sweepLeftBehind, temporaryName } from './files.ts';

export interface LockOwner extends ProcessIdentity {
  readonly role: string;
  readonly since: string;
  /** The namespace in which the owner's pid is valid; null or missing counts as this machine. */
  readonly namespace?: string | null;
}

export interface LockFile {
  release(): Promise<void>;
}

export interface LockRequest {
  readonly role: string;
  readonly now: Date;
  /** A killed process that was writing to disk takes a moment to end. */
  readonly patienceMs?: number;
  readonly touchEveryMs?: number;
  readonly refusal: (path: string, owner: LockOwner | null) => Error;
}

const TOUCH_EVERY_MS = 5_000;
const DEAD_AFTER_MS = 30_000;

export async function takeLock(path: string, request: LockRequest): Promise<LockFile> {
  const mine: LockOwner = {
    ...ownIdentity(),
    ...{ role: request.role, since: request.now.toISOString(), namespace: ownNamespace() },
  };
  const deadline = performance.now() + (request.patienceMs ?? 0);
  await sweepLeftBehind(dirname(path));
  const candidate = temporaryName(dirname(path));
  await writeFile(candidate, `${JSON.stringify(mine)}\n`, { mode: 0o600 }).catch(addPathToError(candidate));
  try {
    for (let attempt = 0; attempt < 10; ) {
      if (await linked(candidate, path)) return ownLock(path, mine, request);
      const found = await readOwner(path);
      if (found.owner !== null && (await lives(path, found.owner))) {
        if (performance.now() > deadline) throw request.refusal(path, found.owner);
        await sleep(100);
        continue;
      }
      await putAside(path, found.text);
      attempt += 1;
    }
    throw request.refusal(path, null);
  } finally {
    await rm(candidate, { force: true });
  }
}

export async function lockOwner(path: string): Promise<LockOwner | null> {
  const { owner } = await readOwner(path);
  return owner !== null && (await lives(path, owner)) ? owner : null;
}

function ownLock(path: string, mine: LockOwner, request: LockRequest): LockFile {
  const touching = setInterval(() => {
    const now = new Date();
    // Touching fails when the lock was removed or the disk is away; other processes then see an old lock.
    utimes(path, now, now).catch(() => undefined);
  }, request.touchEveryMs ?? TOUCH_EVERY_MS).unref();
  return {
    release() {
      clearInterval(touching);
      return release(path, mine);
    },
  };
}

async function lives(path: string, owner: LockOwner): Promise<boolean> {
  const { namespace = null } = owner;
  if (namespace === null || namespace === ownNamespace()) return isStillRunning(owner);
  const touched = await stat(path).catch(() => null);
  return touched !== null && Date.now() - touched.mtimeMs < DEAD_AFTER_MS;
}

async function linked(candidate: string, path: string): Promise<boolean> {
  try {
    await link(candidate, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function readOwner(path: string): Promise<{ text: string | null; owner: LockOwner | null }> {
  const bytes = await readIfThere(path);
  if (bytes === null) return { text: null, owner: null };
  const text = String(bytes);
  return { text, owner: jsonOrNull(text) as LockOwner | null };
}

/** Two processes may put a dead lock aside at once; one that moved a new lock puts it back. */
async function putAside(path: string, deadText: string | null): Promise<void> {
  if (deadText === null) return;
  const aside = temporaryName(dirname(path));
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = await readFile(aside, 'utf8');
  if (moved !== deadText) await linked(aside, path);
  await rm(aside, { force: true });
}

async function release(path: string, mine: LockOwner): Promise<void> {
  const { owner } = await readOwner(path);
  if (owner?.pid === mine.pid && owner.since === mine.since) await rm(path, { force: true });
}
