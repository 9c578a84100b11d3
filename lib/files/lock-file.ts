/**
 * A lock between processes, as a file that says who holds it, so that a refusal can name the owner.
 *
 * A lock whose process is gone is taken over: kill -9 never blocks the next start. From another container or machine
 * nobody can see whether a process lives, so the owner touches its lock every few seconds, and one untouched for long is
 * that of a dead one.
 */

import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isStillRunning, ownIdentity, ownNamespace, type ProcessIdentity } from '../processes.ts';
import { naming } from '../system-errors.ts';
import { temporaryName } from './files.ts';

export interface LockOwner extends ProcessIdentity {
  readonly role: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** Where its pid means it; null or missing: not known, and taken for this machine. */
  readonly namespace?: string | null;
}

export interface LockFile {
  /** true when the previous owner died without giving the lock back. */
  readonly takenOver: boolean;
  release(): Promise<void>;
}

export interface LockRequest {
  readonly role: string;
  readonly now: Date;
  /** How long a living owner is waited for: one that was killed while it wrote to disk takes a moment to be gone. */
  readonly patienceMs?: number;
  readonly touchEveryMs?: number;
  /** What is thrown when a living process keeps it; null: nobody knows which. */
  readonly refusal: (path: string, owner: LockOwner | null) => Error;
}

const TOUCH_EVERY_MS = 5_000;
/** Untouched for so long, a lock of another container is that of a dead process. */
const DEAD_AFTER_MS = 30_000;

/** @throws what `refusal` makes: a living process has it */
export async function takeLock(path: string, request: LockRequest): Promise<LockFile> {
  const mine: LockOwner = {
    ...ownIdentity(),
    ...{ role: request.role, since: request.now.toISOString(), namespace: ownNamespace() },
  };
  const deadline = performance.now() + (request.patienceMs ?? 0);
  const draft = temporaryName(dirname(path));
  await writeFile(draft, `${JSON.stringify(mine)}\n`, { mode: 0o600 }).catch(naming(draft));
  let takenOver = false;
  try {
    for (let attempt = 0; attempt < 10; ) {
      if (await linked(draft, path)) return held(path, { mine, takenOver, request });
      const found = await readOwner(path);
      if (found.owner !== null && (await lives(path, found.owner))) {
        if (performance.now() > deadline) throw request.refusal(path, found.owner);
        await sleep(100);
        continue;
      }
      takenOver = (await putAside(path, found.text)) || takenOver;
      attempt += 1;
    }
    throw request.refusal(path, null);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Who holds it now; null when nobody alive does. For commands that would rather ask the owner. */
export async function lockOwner(path: string): Promise<LockOwner | null> {
  const { owner } = await readOwner(path);
  return owner !== null && (await lives(path, owner)) ? owner : null;
}

function held(
  path: string,
  { mine, takenOver, request }: { mine: LockOwner; takenOver: boolean; request: LockRequest },
): LockFile {
  const touching = setInterval(() => {
    const now = new Date();
    // Somebody may have removed it, or the disk may be away; who looks at it then sees that it is old.
    utimes(path, now, now).catch(() => undefined);
  }, request.touchEveryMs ?? TOUCH_EVERY_MS).unref();
  return {
    takenOver,
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

async function linked(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function readOwner(path: string): Promise<{ text: string | null; owner: LockOwner | null }> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { text: null, owner: null };
    throw error;
  }
  try {
    return { text, owner: JSON.parse(text) as LockOwner };
  } catch {
    return { text, owner: null };
  }
}

/**
 * Moves a dead owner's lock away. Two starters may do this at once: the one that moved a lock which is not the dead
 * one puts it back, so the faster starter keeps what it took.
 */
async function putAside(path: string, deadText: string | null): Promise<boolean> {
  if (deadText === null) return false;
  const aside = temporaryName(dirname(path));
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  const moved = await readFile(aside, 'utf8');
  if (moved !== deadText) await linked(aside, path);
  await rm(aside, { force: true });
  return moved === deadText;
}

async function release(path: string, mine: LockOwner): Promise<void> {
  const { owner } = await readOwner(path);
  if (owner?.pid === mine.pid && owner.since === mine.since) await rm(path, { force: true });
}
