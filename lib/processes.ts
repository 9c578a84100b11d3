import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const STOP_TIMEOUT_MS = 10_000;
const HAS_PROC = existsSync('/proc/self/stat');

export interface ProcessIdentity {
  readonly pid: number;
  /** The process's start time by the kernel, because a pid may be reused; null when it is not known. */
  readonly started: string | null;
}

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, started: startOf(process.pid) };
}

/** The namespace of our pids, since another container or machine has the same pids; null where there is no /proc. */
export function ownNamespace(): string | null {
  return readOr(
    () => `${readText('/proc/sys/kernel/random/boot_id').trim()} ${readlinkSync('/proc/self/ns/pid')}`,
    null,
  );
}

/** A zombie counts as ended: it holds no file and no port. */
export function isStillRunning({ pid, started }: ProcessIdentity): boolean {
  // A record with our own pid and another start is of a process of an earlier boot or container.
  if (pid === process.pid) return started !== null && started === startOf(pid);
  if (!isAlive(pid)) return false;
  const now = startOf(pid);
  return started === null || now === null || started === now;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (!HAS_PROC) return true;
  const state = stateOf(pid)?.[0];
  return state !== undefined && state !== 'Z';
}

/** Resolves once the process is gone: only then are its files and ports free. SIGKILL loses no acknowledged write. */
export async function endProcess(pid: number, timeoutMs = STOP_TIMEOUT_MS): Promise<void> {
  for (const [signal, limitMs] of [
    ['SIGTERM', timeoutMs],
    ['SIGKILL', STOP_TIMEOUT_MS],
  ] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    const deadline = Date.now() + limitMs;
    while (Date.now() < deadline) {
      if (!isAlive(pid)) return;
      await sleep(25);
    }
  }
  throw new Error(`The process ${pid} does not end.`);
}

/** Reads the start time (field 22 of /proc/PID/stat); null where there is no /proc. */
function startOf(pid: number): string | null {
  return stateOf(pid)?.[19] ?? null;
}

/** The fields of /proc/PID/stat from the third on: the second is the command's name, which may hold anything. */
function stateOf(pid: number): readonly string[] | null {
  const text = readOr(() => readText(`/proc/${pid}/stat`), null);
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

export function holderOf(port: number): string | null {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listeningSockets(table, port)));
  if (sockets.size === 0) return null;
  for (const pid of listPids()) {
    const files = readOr(() => readdirSync(`/proc/${pid}/fd`), []);
    const links = files.map((file) => readOr(() => readlinkSync(`/proc/${pid}/fd/${file}`), ''));
    if (links.some((link) => sockets.has(link))) {
      const command = readOr(() => readText(`/proc/${pid}/cmdline`), '')
        .replaceAll('\0', ' ')
        .trim();
      return command === '' ? `process ${pid}` : `process ${pid} (${command.slice(0, 120)})`;
    }
  }
  return null;
}

/** The kernel's table has a line per socket: slot, local address, remote address, state (0A listens), …, inode. */
function listeningSockets(table: string, port: number): readonly string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return readOr(() => readText(`/proc/net/${table}`), '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${hex}`) && fields[3] === '0A')
    .map((fields) => `socket:[${fields[9]}]`);
}

/** Returns `otherwise` after an error, because processes end while they are looked at, and those of other users cannot be read. */
function readOr<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function listPids(): readonly number[] {
  return readOr(() => readdirSync('/proc'), [])
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function readText(path: string): string {
  return readFileSync(path, 'utf8');
}

export async function listenOnce(where: { readonly host: string; readonly port: number }): Promise<number> {
  const server = createServer();
  server.listen({ ...where, exclusive: true });
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : where.port;
}

export function findProcesses(wanted: readonly string[]): readonly number[] {
  return listProcesses()
    .filter(
      ({ pid, args, separator }) =>
        pid !== process.pid && wanted.every((arg) => args.includes(`${separator}${arg}${separator}`)),
    )
    .map(({ pid }) => pid);
}

interface ListedProcess {
  readonly pid: number;
  /**
   * The arguments, with the separator before the first and after the last one. `ps` separates by blanks, which a path may contain.
   */
  readonly args: string;
  readonly separator: string;
}

function listProcesses(): readonly ListedProcess[] {
  if (process.platform === 'linux') {
    return listPids().map((pid) => ({
      ...{ pid, separator: '\0' },
      args: `\0${readOr(() => readText(`/proc/${pid}/cmdline`), '')}`,
    }));
  }
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const match = /^\s*(\d+)\s+(.*)$/.exec(line);
    return match?.[1] && match[2] ? [{ pid: Number(match[1]), args: ` ${match[2]} `, separator: ' ' }] : [];
  });
}
