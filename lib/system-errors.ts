import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';

/** For each code of the system, the problem and what to do about it. */
const KNOWN: Readonly<Record<string, readonly [string, string]>> = {
  ENOENT: [
    'there is no such file or folder',
    'check its name; one that does not begin with / is looked for in the current folder',
  ],
  EACCES: ['this user may not read or write it', 'give this user the right to it, or name another'],
  EPERM: ['this user may not do that', 'give this user the right to it, or name another'],
  EISDIR: ['it is a folder', 'name a file instead'],
  ENOTDIR: ['a part of its path is not a folder', 'check its path: all but its last part have to be folders'],
  ENOTEMPTY: ['the folder is not empty', 'name another, or move what lies there away'],
  EEXIST: ['it is there already', 'name another, or move what lies there away'],
  EROFS: ['the file system is read-only', 'name a place that can be written, or mount this one for writing'],
  ENOSPC: ['the disk is full', 'free some space there, then try again'],
  EDQUOT: ["the user's disk quota is used up", 'free some space there, then try again'],
  EIO: ['the disk reports an error', 'look at the system log: the disk may be failing'],
  EMFILE: ['too many files are open at once', 'raise the limit of open files (ulimit -n), then try again'],
  ELOOP: ['its symbolic links lead round in a circle', 'mend the links, or name what they should lead to'],
  ENAMETOOLONG: ['the name is too long', 'choose a shorter name'],
  ENXIO: ['it is a device or a pipe that cannot be opened', 'name a regular file instead'],
  EADDRNOTAVAIL: [
    'this machine has no such address',
    'name an address that it has (`ip address` lists them) with BILLSYNC_WEBHOOK_HOST or BILLSYNC_ADMIN_HOST; embedded Temporal needs 127.0.0.1, another server is named by TEMPORAL_ADDRESS',
  ],
  EAFNOSUPPORT: [
    'this machine has no addresses of that kind',
    'name an IPv4 address where IPv6 is off, and the other way round',
  ],
  EAGAIN: [
    'the system has no process, thread or lock left for it',
    'raise the limit of processes (ulimit -u, or pids of the container), then try again',
  ],
  EBUSY: ['something else uses it', 'end what uses it, then try again'],
  EFBIG: [
    'the file is larger than the system allows',
    'raise the limit of file sizes (ulimit -f), then try again',
  ],
  ENFILE: [
    'all programs of this machine together have too many files open',
    'raise the limit of open files of the machine (fs.file-max), then try again',
  ],
  ENOLCK: ['the file system has no locks', 'put the data folder on a file system with locks'],
  ENOMEM: ['the memory is used up', 'give this machine or its container more memory, then try again'],
  ENOTSUP: ['the file system cannot do that', 'put the data folder on a local file system'],
  ESTALE: ['the network file system has lost it', 'mount it again, then try again'],
  ETXTBSY: ['it is a program that runs', 'end that program, then try again'],
};

const NO_PORT = {
  problem: 'this user may not listen there',
  advice: 'choose a port from 1024, or give the process the right to this one (CAP_NET_BIND_SERVICE)',
};

/** Node reports a folder on a read-only file system so, and Linux one below /proc. */
const UNMADE = { problem: 'no folder can be made there', advice: 'name a place that can be written' };

const NO_FOLDER = {
  problem: 'it is no folder',
  advice: 'check its path: all but its last part have to be folders',
};

const NO_LINKS = {
  problem: 'its file system has no hard links',
  advice:
    'put the data folder on one that has them (ext4, XFS, Btrfs, ZFS, APFS), not on FAT, exFAT or a FUSE mount without them',
};
const WITHOUT_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

const NO_INODES = {
  problem: 'its file system has no inode left for another file, whatever space is free',
  advice: 'remove small files there, or make the file system with more inodes (`df -i` shows them)',
};
/** With fewer free inodes a file system counts as full: temporary files may have been removed since the error. */
const FEW_INODES = 8;

/** Returns whether the file system of the path has no inodes left; false without a path. */
function hasNoInodes(path: string | null): boolean {
  if (path === null) return false;
  try {
    const { files, ffree, bavail } = statfsSync(dirname(path));
    return files > 0 && ffree <= FEW_INODES && bavail > 0;
  } catch {
    return false;
  }
}

export interface SystemError {
  readonly code: string;
  /** The file, or the address with its port, that the error is about; null when unknown. */
  readonly path: string | null;
  readonly problem: string;
  readonly advice: string;
}

export function systemErrorIn(error: unknown): SystemError | null {
  if (!(error instanceof Error)) return null;
  const { code, path, syscall, address, port } = error as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly port?: number;
  };
  if (code === 'EACCES' && syscall === 'listen')
    return { code, path: addressText(address, port), ...NO_PORT };
  // A folder that is there already is no failure where folders are made with those above them.
  if (code === 'EEXIST' && syscall === 'mkdir') return { code, path: path ?? null, ...NO_FOLDER };
  if (code === 'ENOENT' && syscall === 'mkdir') return { code, path: path ?? null, ...UNMADE };
  if (syscall === 'link' && WITHOUT_LINKS.includes(code ?? ''))
    return { code: String(code), path: path ?? null, ...NO_LINKS };
  const [problem, advice] = KNOWN[String(code)] ?? [];
  if (code === undefined || problem === undefined || advice === undefined)
    return fromDuckDb(error) ?? systemErrorIn(error.cause);
  return knownError(code, path ?? addressText(address, port), { problem, advice });
}

function knownError(
  code: string,
  path: string | null,
  reason: Pick<SystemError, 'problem' | 'advice'>,
): SystemError {
  return { code, path, ...(code === 'ENOSPC' && hasNoInodes(path) ? NO_INODES : reason) };
}

function addressText(address: string | undefined, port: number | undefined): string | null {
  if (address === undefined) return null;
  const host = address.includes(':') ? `[${address}]` : address;
  return port === undefined || port <= 0 ? host : `${host}:${port}`;
}

export function messageOf(error: unknown): string {
  const found = systemErrorIn(error);
  if (found === null) return error instanceof Error ? error.message : String(error);
  return found.path === null ? found.problem : `${found.path}: ${found.problem}`;
}

export function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] ?? '';
}

/** Handler for `.catch` that adds the path, which the system omits for an open file, for example when a disk is full. */
export function addPathToError(path: string): (error: unknown) => never {
  return (error) => {
    throw errorWithPath(error, path);
  };
}

export function withPathInErrors<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw errorWithPath(error, path);
  }
}

function errorWithPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || 'path' in error || systemErrorIn(error) === null) return error;
  return Object.assign(error, { path });
}

function fromDuckDb({ message }: Error): SystemError | null {
  const [first = ''] = message.split('\n', 1);
  if (!/^(?:IO|FATAL) Error:/.test(first)) return null;
  const [code = ''] = DUCKDB_MESSAGES.find(([, pattern]) => pattern.test(first)) ?? [];
  const [problem, advice] = KNOWN[code] ?? [];
  if (problem === undefined || advice === undefined) return null;
  return knownError(code, /["']([^"']+)["']/.exec(first)?.[1] ?? null, { problem, advice });
}

const DUCKDB_MESSAGES = [
  ['ENOSPC', /no space left on device/i],
  ['EDQUOT', /disk quota exceeded/i],
  ['EACCES', /permission denied/i],
  ['EROFS', /read-only file system/i],
  ['EMFILE', /too many open files/i],
  ['EIO', /input\/output error/i],
  ['EFBIG', /file too large/i],
] as const;

export function systemCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
