const PROBLEMS: Readonly<Record<string, string>> = {
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
  EADDRNOTAVAIL: 'this machine has no such address',
  EAFNOSUPPORT: 'this machine has no addresses of that kind',
  EAGAIN: 'the system has no process, thread or lock left for it',
  EBUSY: 'something else uses it',
  EFBIG: 'the file is larger than the system allows',
  ENFILE: 'all programs of this machine together have too many files open',
  ENOLCK: 'the file system has no locks',
  ENOMEM: 'the memory is used up',
  ENOTSUP: 'the file system cannot do that',
  ESTALE: 'the network file system has lost it',
  ETXTBSY: 'it is a program that runs',
};

const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: 'check its name; one that does not begin with / is looked for in the current folder',
  EACCES: 'give this user the right to it, or name another',
  EPERM: 'give this user the right to it, or name another',
  EISDIR: 'name a file instead',
  ENOTDIR: 'check its path: all but its last part have to be folders',
  ENOTEMPTY: 'name another, or move what lies there away',
  EEXIST: 'name another, or move what lies there away',
  EROFS: 'name a place that can be written, or mount this one for writing',
  ENOSPC: 'free some space there, then try again',
  EDQUOT: 'free some space there, then try again',
  EIO: 'look at the system log: the disk may be failing',
  EMFILE: 'raise the limit of open files (ulimit -n), then try again',
  ELOOP: 'mend the links, or name what they should lead to',
  ENAMETOOLONG: 'choose a shorter name',
  ENXIO: 'name a regular file instead',
  EADDRNOTAVAIL:
    'name an address that it has (`ip address` lists them) with BILLSYNC_WEBHOOK_HOST or BILLSYNC_ADMIN_HOST; embedded Temporal needs 127.0.0.1, another server is named by TEMPORAL_ADDRESS',
  EAFNOSUPPORT: 'name an IPv4 address where IPv6 is off, and the other way round',
  EAGAIN: 'raise the limit of processes (ulimit -u, or pids of the container), then try again',
  EBUSY: 'end what uses it, then try again',
  EFBIG: 'raise the limit of file sizes (ulimit -f), then try again',
  ENFILE: 'raise the limit of open files of the machine (fs.file-max), then try again',
  ENOLCK: 'put the data folder on a file system with locks',
  ENOMEM: 'give this machine or its container more memory, then try again',
  ENOTSUP: 'put the data folder on a local file system',
  ESTALE: 'mount it again, then try again',
  ETXTBSY: 'end that program, then try again',
};

const NO_PORT = {
  problem: 'this user may not listen there',
  advice: 'choose a port from 1024, or give the process the right to this one (CAP_NET_BIND_SERVICE)',
};

/** Node reports a folder on a read-only file system so, and Linux one below /proc. */
const UNMADE = { problem: 'no folder can be made there', advice: 'name a place that can be written' };

export interface SystemError {
  readonly code: string;
  /** A file, or an address with its port; null when unknown. */
  readonly path: string | null;
  readonly problem: string;
  readonly advice: string;
}

export function systemErrorIn(error: unknown): SystemError | null {
  if (!(error instanceof Error)) return null;
  const { code, path, syscall, address, port } = error as NodeJS.ErrnoException & Listening;
  if (code === 'EACCES' && syscall === 'listen') return { code, path: placeOf(address, port), ...NO_PORT };
  // A folder that is there already is no failure where folders are made with those above them.
  const isNoFolder = code === 'EEXIST' && syscall === 'mkdir';
  if (code === 'ENOENT' && syscall === 'mkdir') return { code, path: path ?? null, ...UNMADE };
  const problem = isNoFolder ? 'it is no folder' : typeof code === 'string' ? PROBLEMS[code] : undefined;
  if (code === undefined || problem === undefined) return fromDuckDb(error) ?? systemErrorIn(error.cause);
  return {
    code,
    path: path ?? placeOf(address, port),
    problem,
    advice: ADVICE[isNoFolder ? 'ENOTDIR' : code] ?? '',
  };
}

interface Listening {
  readonly address?: string;
  readonly port?: number;
}

function placeOf(address: string | undefined, port: number | undefined): string | null {
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

/** For `.catch`. The system omits the path of an open file, for example when a disk is full. */
export function naming(path: string): (error: unknown) => never {
  return (error) => {
    throw named(error, path);
  };
}

export function withName<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw named(error, path);
  }
}

function named(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || 'path' in error || systemErrorIn(error) === null) return error;
  return Object.assign(error, { path });
}

function fromDuckDb({ message }: Error): SystemError | null {
  const [first = ''] = message.split('\n', 1);
  if (!first.startsWith('IO Error:')) return null;
  const [code] = DUCKDB_MESSAGES.find(([, pattern]) => pattern.test(first)) ?? [];
  const problem = code === undefined ? undefined : PROBLEMS[code];
  if (code === undefined || problem === undefined) return null;
  return { code, path: /["']([^"']+)["']/.exec(first)?.[1] ?? null, problem, advice: ADVICE[code] ?? '' };
}

const DUCKDB_MESSAGES = [
  ['ENOSPC', /no space left on device/i],
  ['EDQUOT', /disk quota exceeded/i],
  ['EACCES', /permission denied/i],
  ['EROFS', /read-only file system/i],
  ['EMFILE', /too many open files/i],
  ['EIO', /input\/output error/i],
] as const;

export function systemCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}
