/**
 * Says who holds the warehouse, so that a refusal can name the owner.
 *
 * DuckDB locks its file as well, but it cannot say for whom, and closing a second handle in the same process drops
 * that lock. A lock whose process is gone is taken over: kill -9 never blocks the next start.
 */

import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { naming } from '../../config/system-error.js';
import { isStillRunning, ownIdentity, type ProcessIdentity } from '../../ops/process-identity.js';
import { WarehouseLockedError } from '../errors.js';

export interface LockOwner extends ProcessIdentity {
  readonly role: string;
  /** ISO 8601 UTC. */
  readonly since: string;
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
}

/** @throws WarehouseLockedError a living process has it */
export async function takeLock(path: string, request: LockRequest): Promise<LockFile> {
  const mine: LockOwner = { ...ownIdentity(), role: request.role, since: request.now.toISOString() };
  const deadline = performance.now() + (request.patienceMs ?? 0);
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, `${JSON.stringify(mine)}\n`, { mode: 0o600 }).catch(naming(draft));
  let takenOver = false;
  try {
    for (let attempt = 0; attempt < 10; ) {
      if (await linked(draft, path)) return { takenOver, release: () => release(path, mine) };
      const found = await readOwner(path);
      if (found.owner !== null && isStillRunning(found.owner)) {
        if (performance.now() > deadline) throw new WarehouseLockedError(path, found.owner);
        await sleep(100);
        continue;
      }
      takenOver = (await putAside(path, found.text)) || takenOver;
      attempt += 1;
    }
    throw new WarehouseLockedError(path, null);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Who holds it now; null when nobody alive does. For commands that would rather ask the owner. */
export async function lockOwner(path: string): Promise<LockOwner | null> {
  const { owner } = await readOwner(path);
  return owner !== null && isStillRunning(owner) ? owner : null;
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
  const aside = `${path}.${process.pid}.dead`;
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
