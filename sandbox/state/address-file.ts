/**
 * The file with the addresses of a running sandbox in its data folder. Commands find the sandbox by it, and it locks the folder.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

export interface AddressFile {
  readonly pid: number;
  readonly adminUrl: string;
  readonly caFile: string;
}

export class DataDirLockedError extends Error {
  override readonly name = 'DataDirLockedError';
  readonly code = 'data_dir_locked';
  readonly pid: number;

  constructor(dataDir: string, pid: number) {
    super(`The folder ${dataDir} belongs to a sandbox that is running as process ${pid}.`);
    this.pid = pid;
  }
}

/** null when no sandbox left any, or they cannot be read. */
export function readAddresses(dataDir: string): AddressFile | null {
  const path = pathOf(dataDir);
  if (!existsSync(path)) return null;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as AddressFile;
  } catch {
    return null;
  }
}

/** Leaves the addresses of this process in the folder, readable by its user only. */
export function writeAddresses(dataDir: string, addresses: AddressFile): void {
  writeFileSync(pathOf(dataDir), `${JSON.stringify(addresses)}\n`, { mode: 0o600 });
}

/** Harmless when there are none. */
export function removeAddresses(dataDir: string): void {
  rmSync(pathOf(dataDir), { force: true });
}

/**
 * A file left by a kill names a process that is gone, or one that came later and listens to nothing of ours.
 *
 * @throws DataDirLockedError when the sandbox that wrote it still answers
 */
export async function assertUnlocked(dataDir: string): Promise<void> {
  const addresses = readAddresses(dataDir);
  if (addresses === null || !isAlive(addresses.pid)) return;
  if (await listens(new URL(addresses.adminUrl))) throw new DataDirLockedError(dataDir, addresses.pid);
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'running.json');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function listens({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
    socket.setTimeout(1_000, () => settle(false));
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
    const settle = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
  });
}
