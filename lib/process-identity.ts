/** Tells processes apart: a pid that a file names may long belong to somebody else. */

import { existsSync, readFileSync, readlinkSync } from 'node:fs';

const HAS_PROC = existsSync('/proc/self/stat');

export interface ProcessIdentity {
  readonly pid: number;
  /** The kernel's start time where it can be had: a reused pid is another process. null: not known. */
  readonly started: string | null;
}

/** This process, so that another can later tell whether the pid still means it. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, started: startOf(process.pid) };
}

/**
 * The boot and the pid namespace in which this process's pid means it; null where there is no /proc. Another container, and another
 * machine, has the same pids for other processes.
 */
export function ownNamespace(): string | null {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return null;
  }
}

/** Whether that very process still runs. A zombie is gone: it holds no file and no port. */
export function isStillRunning({ pid, started }: ProcessIdentity): boolean {
  // Our own pid without our start: a process of an earlier boot or container had the same one.
  if (pid === process.pid) return started !== null && started === startOf(pid);
  if (!isAlive(pid)) return false;
  const now = startOf(pid);
  return started === null || now === null || started === now;
}

/** Whether any process has that pid; one that belongs to somebody else counts, a zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (!HAS_PROC) return true;
  const state = stateOf(pid)?.[0];
  // No entry: it ended between the two questions.
  return state !== undefined && state !== 'Z';
}

/** Field 22 of /proc/PID/stat; null where there is no /proc. */
function startOf(pid: number): string | null {
  return stateOf(pid)?.[19] ?? null;
}

/** The fields of /proc/PID/stat from the third on: the second is the command's name, which may hold anything. */
function stateOf(pid: number): readonly string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
