/** What the operating system refuses of a file or folder that was named is no bug: which one, why, and what to do. */
import { CommandFailure, EXIT } from './failure.ts';

const REFUSALS: Readonly<Record<string, readonly [why: string, whatToDo: string]>> = {
  ENOENT: ['there is no such file or folder', 'check its name'],
  EACCES: ['this user may not read or write it', 'give this user the right to it, or name another'],
  EPERM: ['this user may not do that', 'give this user the right to it, or name another'],
  EISDIR: ['it is a folder', 'name a file instead'],
  ENOTDIR: ['a part of its path is not a folder', 'check its path'],
  EEXIST: ['a part of its path is not a folder', 'check its path'],
  ELOOP: ['its symbolic links lead round in a circle', 'mend the links, or name what they should lead to'],
  EROFS: ['the file system is read-only', 'name a place that can be written'],
  ENOSPC: ['the disk is full', 'free some space there, then try again'],
  EDQUOT: ["the user's disk quota is used up", 'free some space there, then try again'],
  EIO: ['the disk reports an error', 'look at the system log: the disk may be failing'],
  EMFILE: ['too many files are open at once', 'raise the limit of open files (ulimit -n)'],
  ENAMETOOLONG: ['the name is too long', 'choose a shorter name'],
};

/** @param path where the error itself does not say it; @returns null for anything else */
export function refusedBySystem(error: unknown, path?: string): CommandFailure | null {
  const { code, path: own, syscall } = error as NodeJS.ErrnoException;
  // So Node tells of a folder with its parents on a read-only file system.
  const isMade = code === 'ENOENT' && syscall === 'mkdir';
  const refusal = isMade ? REFUSALS.EROFS : typeof code === 'string' ? REFUSALS[code] : undefined;
  if (refusal === undefined) return null;
  const [why, whatToDo] = refusal;
  const place = own ?? path;
  const what = place === undefined ? why : `${place}: ${why}`;
  return new CommandFailure(code === 'ENOSPC' ? EXIT.diskFull : EXIT.usage, [what, `  → ${whatToDo}`]);
}
