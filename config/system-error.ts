/** What the operating system's refusals mean, in words: files and folders that a person named. */

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'this user may not read or write it',
  EPERM: 'this user may not do that',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  ENOTEMPTY: 'the folder is not empty',
  EEXIST: 'it is there already',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: "the user's disk quota is used up",
  EIO: 'the disk reports an error',
  EMFILE: 'too many files are open at once',
  ELOOP: 'its symbolic links lead round in a circle',
  ENAMETOOLONG: 'the name is too long',
  ENXIO: 'it is a device or a pipe that cannot be opened',
};

export interface SystemError {
  readonly code: string;
  /** null when the system did not say which file it was. */
  readonly path: string | null;
  readonly words: string;
}

/** The first refusal of the operating system among an error and its causes; null when it is something else. */
export function systemErrorIn(error: unknown): SystemError | null {
  if (!(error instanceof Error)) return null;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  // A folder that is there already is no failure where folders are made with those above them.
  const isNoFolder = code === 'EEXIST' && syscall === 'mkdir';
  const words = isNoFolder ? 'it is no folder' : typeof code === 'string' ? WORDS[code] : undefined;
  if (code === undefined || words === undefined) return systemErrorIn(error.cause);
  return { code, path: path ?? null, words };
}

/** `/etc/x: there is no such file or folder`; any other error's own message. */
export function messageOf(error: unknown): string {
  const found = systemErrorIn(error);
  if (found === null) return error instanceof Error ? error.message : String(error);
  return found.path === null ? found.words : `${found.path}: ${found.words}`;
}
